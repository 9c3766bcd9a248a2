// Command chat talks to a model in the terminal. The conversation so far is a
// prefix of each next prompt, so only what is new is computed.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/demo"
)

func main() {
	model := flag.String("model", "", "GGUF file (none: the embedded demo model)")
	system := flag.String("system", "", "system message")
	temperature := flag.Float64("temperature", 0, "0: always the likeliest token")
	flag.Parse()
	eng, err := open(*model)
	if err == nil {
		err = talk(eng, os.Stdin, os.Stdout, *system, float32(*temperature))
		eng.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chat:", err)
		os.Exit(1)
	}
}

func open(model string) (*paddock.Engine, error) {
	if model == "" {
		return paddock.OpenFS(demo.Files, demo.Name, paddock.Options{})
	}
	return paddock.Open(model, paddock.Options{})
}

// talk reads a line, answers it, and goes on until the input ends. An interrupt
// ends the answer, not the conversation.
func talk(eng *paddock.Engine, in io.Reader, out io.Writer, system string, temperature float32) error {
	var turns []paddock.Message
	if system != "" {
		turns = append(turns, paddock.Message{Role: "system", Content: system})
	}
	lines := bufio.NewScanner(in)
	for {
		fmt.Fprint(out, "> ")
		if !lines.Scan() {
			fmt.Fprintln(out)
			return lines.Err()
		}
		if lines.Text() == "" {
			continue
		}
		turns = append(turns, paddock.Message{Role: "user", Content: lines.Text()})
		answer, err := say(eng, out, turns, temperature)
		if err != nil {
			return err
		}
		turns = append(turns, paddock.Message{Role: "assistant", Content: answer})
	}
}

// say streams one answer.
func say(eng *paddock.Engine, out io.Writer, turns []paddock.Message, temperature float32) (string, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	answer := ""
	r := paddock.Request{Messages: turns, Sampling: paddock.Sampling{Temperature: temperature}}
	for tok, err := range eng.Generate(ctx, r) {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return "", err
		}
		answer += tok.Text
		fmt.Fprint(out, tok.Text)
	}
	fmt.Fprintln(out)
	return answer, nil
}

// Command hello loads the embedded model and prints a short answer.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/paddock-go/paddock"
	"github.com/paddock-go/paddock/examples/demo"
)

func main() {
	eng, err := paddock.OpenFS(demo.Files, demo.Name, paddock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	ask := []paddock.Message{{Role: "user", Content: "What does paddock_generation_tokens count?"}}
	for tok, err := range eng.Generate(context.Background(), paddock.Request{Messages: ask, MaxTokens: 64}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(tok.Text)
	}
	fmt.Println()
}

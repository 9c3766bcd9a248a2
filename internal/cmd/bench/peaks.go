package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// peaks are what the machine gives plain loops at one time, all workers together;
// 0: it has no such unit.
type peaks struct {
	Read float64 `json:"read_gb_per_s"`       // bytes read from memory
	FMA  float64 `json:"fma_gflops"`          // float32, fused, in registers
	Tile float64 `json:"tile_tops,omitempty"` // 8-bit products and sums of tiles
}

// differ is by which share of the larger any of two's peaks differ.
func (p peaks) differ(o peaks) float64 {
	share := func(a, b float64) float64 {
		if a == 0 && b == 0 {
			return 0
		}
		return 1 - min(a, b)/max(a, b)
	}
	return max(share(p.Read, o.Read), share(p.FMA, o.FMA), share(p.Tile, o.Tile))
}

func (p peaks) mean(o peaks) peaks {
	return peaks{(p.Read + o.Read) / 2, (p.FMA + o.FMA) / 2, (p.Tile + o.Tile) / 2}
}

// peakMeter is a process that measures peaks. It is one of its own, since it holds
// memory to read: what this program holds counts in the peaks of its children.
type peakMeter struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startPeaks starts the process with so many workers, which read so many bytes.
func startPeaks(workers int, bytes int64) (*peakMeter, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	m := &peakMeter{cmd: exec.Command(self, "-peaks-child", strconv.FormatInt(bytes, 10), "-threads", strconv.Itoa(workers))}
	m.cmd.Stderr = os.Stderr
	if m.in, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	m.out = bufio.NewScanner(out)
	return m, m.cmd.Start()
}

// measure is the peaks now.
func (m *peakMeter) measure(ctx context.Context) (p peaks, err error) {
	if err := ctx.Err(); err != nil {
		return p, err
	}
	if _, err := fmt.Fprintln(m.in); err != nil {
		return p, err
	}
	if !m.out.Scan() {
		return p, errors.Join(errors.New("the process that measures peaks ended"), m.out.Err())
	}
	return p, json.Unmarshal(m.out.Bytes(), &p)
}

// close ends the process.
func (m *peakMeter) close() error { return errors.Join(m.in.Close(), m.cmd.Wait()) }

// peaksChild is the process: a line of peaks for each line that comes in.
func peaksChild(workers int, bytes int64, in io.Reader, out io.Writer) error {
	loops := newPeakLoops(workers, bytes)
	requests := bufio.NewScanner(in)
	for requests.Scan() {
		if err := json.NewEncoder(out).Encode(loops.run()); err != nil {
			return err
		}
	}
	return requests.Err()
}

package main

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// peaks are what the card can do at most; 0: not measured.
type peaks struct {
	copyBytes float64 // bytes read and written in a second, by the better of two ways
	readBytes float64 // bytes read in a second
	bf16      float64 // operations in a second, by mma.sync
	s8        float64
}

// peakSizes are how much work a peak is measured with.
type peakSizes struct {
	bytes  int64 // of one buffer
	blocks int
	rounds int32
	runs   int
}

func (k *checker) peakSizes() peakSizes {
	if k.c.simulate {
		return peakSizes{bytes: 64 << 10, blocks: 2, rounds: 1, runs: 1}
	}
	// Far more than the cache of any card, but no more than a quarter of the memory;
	// enough rounds for some milliseconds.
	bytes := min(int64(2<<30), int64(k.facts.Memory/8)) &^ (1<<20 - 1)
	return peakSizes{bytes: bytes, blocks: 8 * k.facts.Multiprocessors, rounds: 1 << 13, runs: 5}
}

// What a round of 8 instructions is of a warp, in multiplications and additions.
const (
	bf16Round = 8 * 2 * 16 * 8 * 16
	s8Round   = 8 * 2 * 16 * 8 * 32
	peakWarps = 8 // of a block
)

// measurePeaks times our own plain kernels with events.
func (k *checker) measurePeaks() error {
	return k.bare(func(b *bare) error {
		z := k.peakSizes()
		from, err := b.alloc(z.bytes)
		if err != nil {
			return err
		}
		to, err := b.alloc(z.bytes)
		if err != nil {
			return err
		}
		out, err := b.alloc(int64(z.blocks) * 256 * 4)
		if err != nil {
			return err
		}
		if err := b.calls.Fill(from, 0, z.bytes, b.stream); err != nil {
			return err
		}
		rate := func(name string, work float64, f func() error) (float64, error) {
			ms, err := b.time(z.runs, f)
			if err != nil || ms <= 0 {
				return 0, fmt.Errorf("%s: %v ms: %w", name, ms, err)
			}
			return work / ms * 1e3, nil
		}
		pieces := z.bytes / 16
		kernel, err := rate("copy", 2*float64(z.bytes), func() error {
			return b.launch("peak", "peak_copy", z.blocks, 256, to, from, pieces)
		})
		if err != nil {
			return err
		}
		library, err := rate("copy by the driver", 2*float64(z.bytes), func() error {
			return b.calls.Copy(to, from, z.bytes, b.stream)
		})
		if err != nil {
			return err
		}
		p := &k.peaks
		p.copyBytes = max(kernel, library)
		if p.readBytes, err = rate("read", float64(z.bytes), func() error {
			return b.launch("peak", "peak_read", z.blocks, 256, out, from, pieces)
		}); err != nil {
			return err
		}
		warps := float64(z.blocks * peakWarps)
		if p.bf16, err = rate("bf16", warps*float64(z.rounds)*bf16Round, func() error {
			return b.launch("peak", "peak_bf16", z.blocks, 32*peakWarps, driver.DevicePtr(out), z.rounds)
		}); err != nil {
			return err
		}
		if p.s8, err = rate("s8", warps*float64(z.rounds)*s8Round, func() error {
			return b.launch("peak", "peak_s8", z.blocks, 32*peakWarps, driver.DevicePtr(out), z.rounds)
		}); err != nil {
			return err
		}
		k.measure("copy, by a kernel", kernel/1e9, "GB/s read and written")
		k.measure("copy, by the driver", library/1e9, "GB/s read and written")
		k.measure("read", p.readBytes/1e9, "GB/s")
		k.measure("bf16 mma.sync", p.bf16/1e12, "TFLOP/s")
		k.measure("int8 mma.sync", p.s8/1e12, "TOP/s")
		return nil
	})
}

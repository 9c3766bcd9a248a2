// Package demo carries a small language model, so that a program can serve something real with nothing downloaded:
//
//	eng, err := paddock.OpenFS(demo.Files, demo.Name, paddock.Options{})
//
// The model was trained for this project (2.8 million parameters, Q8_0, context 2,048). It answers questions about
// paddock's metrics and a few about its API, and is good for little else: see MODEL_CARD.md. Only programs that
// import this package carry its three megabytes.
package demo

import "embed"

// Name is the model's path in Files.
const Name = "demo.gguf"

// Files holds the model, one GGUF file called Name. It is read-only and safe for concurrent use.
//
//go:embed demo.gguf
var Files embed.FS

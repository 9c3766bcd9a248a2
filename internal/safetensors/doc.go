// Package safetensors reads safetensors files, and the sets of them that a
// model.safetensors.index.json describes, as if each had been made by an enemy:
// the header is read strictly and by one pass, every tensor's bytes are checked
// against its shape and type, and no two tensors share a byte. It knows the
// format and nothing of models.
//
//	┌────────┬──────────────────────────────┬─────────────────────────┐
//	│ length │ header: JSON, padded by blanks│ data, without holes     │
//	│ 8 bytes│ name → dtype, shape, offsets  │ viewed in place         │
//	└────────┴──────────────────────────────┴─────────────────────────┘
package safetensors

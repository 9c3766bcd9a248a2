package kvcache

import (
	"crypto/sha256"
	"encoding/binary"
)

// Hash identifies all tokens from the first of a sequence to the last of one page, together with what else decides
// their keys and values.
type Hash [sha256.Size]byte

// Tags keep a seed from ever being read as a page, whatever adapter and scope contain.
const (
	tagSeed byte = 1
	tagPage byte = 2
)

// Seed is the hash before the first token. Sequences find each other's pages only if adapter (weights that change the
// values; empty: none) and scope (a wall between parties that must not probe each other's prompts; empty: the common
// scope) are both equal.
func Seed(adapter, scope string) Hash {
	b := make([]byte, 0, 9+len(adapter)+len(scope))
	b = append(b, tagSeed)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(adapter))) // a length, so that ("ab","c") is not ("a","bc")
	b = append(b, adapter...)
	b = append(b, scope...)
	return sha256.Sum256(b)
}

// HashPage is the hash of a page that holds tokens (exactly PageSize of them) and follows parent: the hash of the page
// before it, or the seed.
func (p *Pool) HashPage(parent Hash, tokens []int32) Hash {
	if len(tokens) != p.size {
		panic("kvcache: HashPage needs exactly one page of tokens")
	}
	b := append(p.scratch[:0], tagPage)
	b = append(b, parent[:]...)
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	p.scratch = b
	return sha256.Sum256(b)
}

// Chain appends to chain the hashes of the full pages of tokens that it lacks, and returns it. A chain begun for a
// shorter prefix of the same tokens is thus continued, not computed again.
func (p *Pool) Chain(chain []Hash, seed Hash, tokens []int32) []Hash {
	parent := seed
	if n := len(chain); n > 0 {
		parent = chain[n-1]
	}
	for i := len(chain); i < len(tokens)/p.size; i++ {
		parent = p.HashPage(parent, tokens[i*p.size:(i+1)*p.size])
		chain = append(chain, parent)
	}
	return chain
}

package tokenizer

// trie finds all tokens that a text begins with. Nodes are numbered; an edge is a map
// entry, but for the first byte, so that it costs memory in proportion to the tokens.
type trie struct {
	root  [256]int32
	edges map[uint64]int32 // node<<8|byte → node
	ids   []int32          // by node: the token that ends there, or -1; node 0 is the root
}

func newTrie(size int) *trie {
	return &trie{edges: make(map[uint64]int32, size), ids: []int32{none}}
}

func (t *trie) step(node int32, b byte) int32 {
	if node == 0 {
		return t.root[b]
	}
	return t.edges[uint64(node)<<8|uint64(b)]
}

// add enters a token; of two of the same text the later one counts.
func (t *trie) add(text string, id int32) {
	node := int32(0)
	for i := range len(text) {
		next := t.step(node, text[i])
		if next == 0 {
			next = int32(len(t.ids))
			t.ids = append(t.ids, none)
			if node == 0 {
				t.root[text[i]] = next
			} else {
				t.edges[uint64(node)<<8|uint64(text[i])] = next
			}
		}
		node = next
	}
	t.ids[node] = id
}

// longest returns the longest token that s begins with and its length, or -1, and how
// many bytes it looked at.
func (t *trie) longest(s string) (id int32, size, looked int) {
	id = none
	node := int32(0)
	for i := range len(s) {
		looked++
		if node = t.step(node, s[i]); node == 0 {
			break
		}
		if x := t.ids[node]; x >= 0 {
			id, size = x, i+1
		}
	}
	return id, size, looked
}

// maxTrieToken bounds what a step over a text may cost: real tokens are below 300 bytes.
const maxTrieToken = 1024

func tooLong(id int, text string) error {
	return badVocab("Tokens", id, text, "%d bytes, at most %d in this kind of vocabulary", len(text), maxTrieToken)
}

package hf

import "slices"

// family is one class of the transformers library and what it is here: a further one is a
// row in the file of its group.
type family struct {
	class, arch string

	names []name
	roots []string // what a tensor's name may begin with before that in names; nil: "model."
	skips []string // beginnings of names of tensors that the text model has no use for

	unread   []string // ends of names of tensors that say nothing
	zeroBias bool     // files hold biases that it has not, all of them 0

	nested  string            // the key that holds the text model's config; "": all of it
	alias   map[string]string // the class's own name of a key → the usual one
	absent  map[string]string // what the class has, as JSON, where a config is silent
	must    []must
	keys    []key
	experts string // the key that says how many experts a layer has; "": none

	embeds      bool // it makes nothing but rows, which have to be pooled
	ranks       bool // a classifier is behind its pooling
	rotates     bool
	localBase   bool                       // windowed layers rotate by a base of their own
	unstretched bool                       // windowed layers rotate without what stretches the others
	partial     bool                       // a part of a head may rotate
	window      func(c *config, h *header) // what becomes of windows; nil: the class has none
	ffn         func(c *config) int64      // the width of a feed-forward; nil: stated
	more        func(c *config, h *header) // what the other fields can't say
}

// families lists the classes that are known here.
var families = slices.Concat(llamas, qwens, mistral3s, gemmas, phis, olmos, coheres, glms, ungateds, lfms, mixtures, gptOSS, deepSeeks, graniteMoEs,
	berts, nomicBerts, modernBerts, gemmaEmbeddings, bases)

// classes are the names of all families.
func classes() (list []string) {
	for _, f := range families {
		list = append(list, f.class)
	}
	return list
}

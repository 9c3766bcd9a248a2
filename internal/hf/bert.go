package hf

import "slices"

var (
	bertNames = []name{
		{"embeddings.word_embeddings", "token_embd", nil},
		{"embeddings.position_embeddings", "position_embd", nil},
		{"embeddings.token_type_embeddings", "token_types", nil},
		{"embeddings.LayerNorm", "token_embd_norm", nil},
		{"encoder.layer.#.attention.self.query", "blk.#.attn_q", nil},
		{"encoder.layer.#.attention.self.key", "blk.#.attn_k", nil},
		{"encoder.layer.#.attention.self.value", "blk.#.attn_v", nil},
		{"encoder.layer.#.attention.output.dense", "blk.#.attn_output", nil},
		{"encoder.layer.#.attention.output.LayerNorm", "blk.#.attn_output_norm", nil},
		{"encoder.layer.#.intermediate.dense", "blk.#.ffn_up", nil},
		{"encoder.layer.#.output.dense", "blk.#.ffn_down", nil},
		{"encoder.layer.#.output.LayerNorm", "blk.#.layer_output_norm", nil},
	}
	bertRankNames = slices.Concat(bertNames, []name{{"pooler.dense", "cls", nil}, {"classifier", "cls.output", nil}})

	bertMust = []must{geluActs, {"position_embedding_type", []string{`"absolute"`}}, {"is_decoder", []string{"false"}}, {"add_cross_attention", []string{"false"}}}

	bertAbsent = map[string]string{"layer_norm_eps": "1e-12", "max_position_embeddings": "512"}

	bertRoots = []string{"bert."}

	// Positions in order, and the product that BERT was trained with and nothing pools by.
	bertUnread = []string{"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}
)

// berts are BERT, which embeds, and the rerankers made of it.
var berts = []family{
	{class: "BertModel", arch: "bert", roots: bertRoots, names: bertNames, unread: bertUnread, must: bertMust, absent: bertAbsent, keys: layerNorm, embeds: true, more: bothWays},
	{class: "BertForSequenceClassification", arch: "bert", roots: bertRoots, names: bertRankNames, unread: bertUnread[:1], must: bertMust, absent: bertAbsent, keys: layerNorm,
		embeds: true, ranks: true, more: func(c *config, h *header) {
			bothWays(c, h)
			c.note("all tokens of a query and its document are of type 0, as in GGUF files; the library takes type 1 for the document's")
		}},
}

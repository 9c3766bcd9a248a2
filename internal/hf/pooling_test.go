package hf_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/hf"
)

const (
	oneDense = `[{"idx":0,"path":"","type":"sentence_transformers.models.Transformer"},{"idx":1,"path":"1_Pooling","type":"sentence_transformers.models.Pooling"},
		{"idx":2,"path":"2_Dense","type":"sentence_transformers.models.Dense"},{"idx":3,"path":"3_Normalize","type":"sentence_transformers.models.Normalize"}]`
	mean     = `{"word_embedding_dimension":64,"pooling_mode_cls_token":false,"pooling_mode_mean_tokens":true}`
	identity = `{"in_features":64,"out_features":32,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"}`
)

// dense32 is the file of a product from 64 to 32.
func dense32() string {
	const head = `{"linear.weight":{"dtype":"F16","shape":[32,64],"data_offsets":[0,4096]}}`
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + string(make([]byte, 4096))
}

func smallBert() *folder {
	outer := map[string][]int{"embeddings.word_embeddings.weight": {512, 64}, "embeddings.position_embeddings.weight": {64, 64}, "embeddings.token_type_embeddings.weight": {2, 64},
		"embeddings.LayerNorm.weight": {64}, "embeddings.LayerNorm.bias": {64}, "pooler.dense.weight": {64, 64}, "pooler.dense.bias": {64}, "embeddings.position_ids": {1, 64}}
	const l = "encoder.layer.0."
	for name, rows := range map[string][2]int{"attention.self.query": {64, 64}, "attention.self.key": {64, 64}, "attention.self.value": {64, 64}, "attention.output.dense": {64, 64},
		"intermediate.dense": {32, 64}, "output.dense": {64, 32}} {
		outer[l+name+".weight"], outer[l+name+".bias"] = []int{rows[0], rows[1]}, []int{rows[0]}
	}
	for _, name := range []string{"attention.output.LayerNorm", "output.LayerNorm"} {
		outer[l+name+".weight"], outer[l+name+".bias"] = []int{64}, []int{64}
	}
	f := smallOf("BertModel", map[string]any{"hidden_act": "gelu", "layer_norm_eps": 1e-12, "position_embedding_type": "absolute"}, outer, nil)
	f.types["embeddings.position_ids"] = "I64"
	f.files["modules.json"], f.files["1_Pooling/config.json"] = oneDense, mean
	f.files["2_Dense/config.json"], f.files["2_Dense/model.safetensors"] = identity, dense32()
	return f
}

func file(name, text string) func(*folder) {
	return func(f *folder) {
		if f.files[name] = text; text == "" {
			delete(f.files, name)
		}
	}
}

// TestRefusedPooling: what of sentence-transformers' files is not known, and what
// encoders do not have.
func TestRefusedPooling(t *testing.T) {
	const modules, pooling, dense = "modules.json", "1_Pooling/config.json", "2_Dense/config.json"
	list := func(more string) string {
		return `[{"path":"","type":"sentence_transformers.models.Transformer"},{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}` + more + `]`
	}
	module := func(path, kind string) string { return `,{"path":"` + path + `","type":"a.b.` + kind + `"}` }
	two := module("2_Dense", "Dense")
	try(t, map[string]change{
		"no change":           {smallBert, func(*folder) {}, ""},
		"no product":          {smallBert, file(modules, list("")), ""},
		"two products":        {smallBert, file(modules, list(two+two)), "dense_3"},
		"no modules":          {smallBert, file(modules, ""), "modules.json"},
		"bad modules":         {smallBert, file(modules, "{"), "modules.json"},
		"no pooling":          {smallBert, file(modules, `[{"path":"","type":"a.Transformer"}]`), "Pooling"},
		"nothing at all":      {smallBert, file(modules, `[]`), "Pooling"},
		"another module":      {smallBert, file(modules, list(module("2", "LSTM"))), "LSTM"},
		"another order":       {smallBert, file(modules, list(module("2", "Normalize")+two)), "Dense"},
		"three products":      {smallBert, file(modules, list(two+two+two)), "more than 2"},
		"a path upwards":      {smallBert, file(modules, list(module("../2_Dense", "Dense"))), "plain name"},
		"an absolute path":    {smallBert, file(modules, list(module("/etc", "Dense"))), "plain name"},
		"the model elsewhere": {smallBert, file(modules, `[{"path":"0_Transformer","type":"a.Transformer"},{"path":"1_Pooling","type":"a.Pooling"}]`), "0_Transformer"},
		"no pooling's file":   {smallBert, file(pooling, ""), pooling},
		"a bad pooling":       {smallBert, file(pooling, "["), pooling},
		"no kind":             {smallBert, file(pooling, `{}`), "0 kinds"},
		"two kinds":           {smallBert, file(pooling, `{"pooling_mode_cls_token":true,"pooling_mode_mean_tokens":true}`), "2 kinds"},
		"a kind unknown":      {smallBert, file(pooling, `{"pooling_mode_max_tokens":true}`), "max_tokens"},
		"a word unknown":      {smallBert, file(pooling, `{"pooling_mode":"weightedmean"}`), "weightedmean"},
		"no word":             {smallBert, file(pooling, `{"pooling_mode":["mean"]}`), "one word"},
		"a product's tanh":    {smallBert, file(dense, `{"activation_function":"torch.nn.modules.activation.Tanh"}`), "Tanh"},
		"a product unsaid":    {smallBert, file(dense, `{}`), "activation_function"},
		"no product's file":   {smallBert, file(dense, ""), dense},
		"no product's values": {smallBert, file("2_Dense/model.safetensors", ""), "model.safetensors"},

		"relative positions": {smallBert, set("position_embedding_type", "relative_key"), "position_embedding_type"},
		"a decoder":          {smallBert, set("is_decoder", true), "is_decoder"},
		"another activation": {smallBert, set("hidden_act", "relu"), "hidden_act"},
		"a classifier":       {smallBert, shape("classifier.weight", 1, 64), "classifier"},
		"a reranker without a classifier": {smallBert, func(f *folder) {
			f.config["architectures"] = []string{"BertForSequenceClassification"}
		}, "cls.output"},
		"a decoder that sees both ways": {func() *folder {
			f := small()
			f.files[modules], f.files[pooling] = list(""), mean
			return f
		}, set("is_causal", false), "is_causal"},
		"a decoder made to see both ways": {func() *folder {
			f := small()
			f.files[modules], f.files[pooling] = list(""), mean
			return f
		}, set("use_bidirectional_attention", true), "use_bidirectional_attention"},
		"a Gemma that sees one way": {func() *folder {
			f := small()
			f.files[modules], f.files[pooling] = list(""), mean
			return f
		}, set("architectures", []string{"Gemma3TextModel"}), "use_bidirectional_attention"},
		"a ModernBERT of other layers": {func() *folder {
			f := small()
			f.files[modules], f.files[pooling] = list(""), mean
			return f
		}, func(f *folder) {
			f.config["architectures"], f.config["hidden_act"] = []string{"ModernBertModel"}, "gelu"
			f.config["layer_types"] = []string{"sliding_attention"}
		}, "layer_types"},
	})
}

// TestNotes: what is left out or computed otherwise is said.
func TestNotes(t *testing.T) {
	bert := smallBert()
	deep := smallDeepSeek()
	deep.config["num_nextn_predict_layers"] = 1
	deep.tensors["model.layers.1.eh_proj.weight"] = []int{64, 128}
	none, more := small(), small()
	for f, list := range map[*folder]string{none: `[{"name":"rag","template":"R"}]`, more: `[{"name":"default","template":"D"},{"name":"tool_use","template":"T"}]`} {
		f.files["tokenizer.json"] = tokenizerJSON(t)
		f.files["tokenizer_config.json"] = `{"chat_template":` + list + `}`
	}
	for f, want := range map[*folder]string{bert: "tanh", deep: "1 tensors of 1 layers", none: `"rag" and none is the default`, more: `"tool_use" are left out`} {
		m, err := hf.OpenFS(f.fs(t), "m", hf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], want) {
			t.Errorf("%q, want one with %q", m.Notes, want)
		}
		if err := m.File.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

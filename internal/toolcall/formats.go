package toolcall

// Call is one call of a function.
type Call struct {
	Name      string
	Arguments string // a JSON object, as the model wrote it where it wrote JSON
}

// Format is how a model writes calls. Immutable.
type Format struct {
	// Name is what people call it.
	Name string
	// opens are the markers one of which begins a section of calls, and close is the
	// one that ends it; "": the section goes to the end of the text.
	opens []string
	close string
	// bare: the section may begin without a marker, with { or [ as the very first
	// thing of the answer.
	bare bool
	// json: the close does not count inside a JSON string.
	json bool
	// read takes the calls of a whole section. False: it is no such thing, and the
	// text stays text.
	read func(section string, o *Offer) ([]Call, bool)
	// tokens are further markers that may be control tokens.
	tokens []string
	// channels: the text is in harmony's channels, and nothing above counts.
	channels bool
}

// formats is the table, in the order in which a template is tried against it.
var formats = []*Format{
	{Name: "harmony", channels: true, tokens: []string{markStart, markChannel, markMessage, "<|constrain|>", "<|end|>", "<|call|>", "<|return|>"}},
	{Name: "json in tool_call tags", opens: []string{"<tool_call>"}, close: "</tool_call>", json: true, read: readJSON},
	{Name: "functions in tool_call tags", opens: []string{"<tool_call>"}, close: "</tool_call>", read: readFunctions, tokens: []string{"<function=", "</function>", "<parameter=", "</parameter>"}},
	{Name: "arg_key in tool_call tags", opens: []string{"<tool_call>"}, close: "</tool_call>", read: readArgKeys, tokens: []string{"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}},
	{Name: "json in tool_calls tags", opens: []string{"<tool_calls>"}, close: "</tool_calls>", json: true, read: readJSON},
	{Name: "mistral", opens: []string{"[TOOL_CALLS]"}, json: true, read: readMistral, tokens: []string{"[ARGS]", "[CALL_ID]"}},
	{Name: "deepseek", opens: []string{"<｜tool▁calls▁begin｜>"}, close: "<｜tool▁calls▁end｜>", json: true, read: readDeepSeek, tokens: []string{"<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"}},
	{Name: "deepseek markup", opens: []string{"<｜DSML｜function_calls>"}, close: "</｜DSML｜function_calls>", read: readDSML, tokens: []string{"｜DSML｜"}},
	{Name: "json behind tool_call", opens: []string{"<|tool_call|>"}, json: true, read: readJSON},
	{Name: "internlm", opens: []string{"<|action_start|><|plugin|>"}, close: "<|action_end|>", json: true, read: readJSON, tokens: []string{"<|action_start|>", "<|plugin|>"}},
	{Name: "apertus", opens: []string{"<|tools_prefix|>"}, close: "<|tools_suffix|>", json: true, read: readKeyed},
	{Name: "bare json", opens: []string{"<|python_tag|>", "functools"}, bare: true, json: true, read: readOffered},
}

// Think are the markers around reasoning.
type Think struct{ Open, Close string }

// thinks are the markers that templates are known to have. The first is taken for
// a template that has none of them and a client who asks for reasoning all the same.
var thinks = []Think{{"<think>", "</think>"}, {"[THINK]", "[/THINK]"}, {"<|inner_prefix|>", "<|inner_suffix|>"}}

// Markers are the texts that matter to a parser with these options and may be
// control tokens of the vocabulary, which are no text otherwise.
func (o *Options) Markers() []string {
	var out []string
	if f := o.Calls; f != nil {
		out = append(append(out, f.opens...), f.tokens...)
		if f.close != "" {
			out = append(out, f.close)
		}
	}
	if o.Think.Close != "" {
		out = append(out, o.Think.Open, o.Think.Close)
	}
	return out
}

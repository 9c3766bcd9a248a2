// Package toolcall knows how models call tools: what a chat template wants of a
// conversation with calls in it, learnt by rendering a few conversations with it,
// and how the text that a model writes is told apart into content, reasoning and
// calls.
//
//	template ──Learn──▶ Traits: form of arguments, parts, reasoning, Format
//	text ──Parser.Push, one token's text at a time──▶ content, reasoning, calls
//
// Nothing here imitates a template: what the model sees is always rendered by its
// own. A format of calls is one row of the table in formats.go; a template's is
// the row that reads back, to the letter, a call which the template itself wrote.
package toolcall

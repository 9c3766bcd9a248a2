// Package chat renders the chat templates that model files carry: the subset of
// Jinja that such templates are written in, set up as the transformers library
// sets it up, with Python's semantics wherever a template can see them, and
// under limits, because a template is a program that came with a file.
//
//	source ──lexer──▶ tokens ──parser──▶ AST ──scope──▶ Template (immutable)
//	                                                        │ Render(ctx, Options)
//	JSON ──DecodeJSON──▶ Value (ordered, int ≠ float) ──────┤
//	                                                        ▼
//	                                    text, or one of four typed errors
//
// The set-up: the immutable sandbox, trim_blocks, lstrip_blocks, loop controls,
// the generation tag, tojson as json.dumps without HTML escapes,
// raise_exception and strftime_now. No template can load another one.
//
// What a template may use is in tables: filters.go, tests.go, globals.go and
// the methods_*.go files each hold one; adding a builtin is a row and a function.
package chat

package backend

import "github.com/paddock-go/paddock/internal/prog"

// PickTokens is how many tokens of a row a Pick has.
const PickTokens = 64

// PickError bounds the relative error of Pick.Rest.
const PickError = 1e-3

// Pick is what decides most draws from a row of logits: its likeliest tokens, and what
// all others weigh.
//
//	logit descending, id ascending among equals
//	│ 0 │ 1 │ 2 │ … │ Count − 1 │ the rest of the vocabulary ……………… │
//	└──── exact: Logits, Tokens ┘└── Rest: Σ e^((logit − top) ÷ T) ──┘
type Pick struct {
	NaN    int32   // the first token whose logit is NaN; −1: none. If there is one the rest means nothing
	Count  int32   // of candidates: up to PickTokens tokens whose logits are above −∞
	Rest   float32 // of the tokens that are no candidates, T being the temperature asked for; top is Logits[0]. It means nothing where T is 0
	_      int32
	Logits [PickTokens]float32
	Tokens [PickTokens]int32
}

// Picker is a Runner that finds the likeliest tokens of its logits itself, so that
// whole rows need not cross a bus nor be walked by the caller. A runner of a program
// that embeds has no use for it.
type Picker interface {
	Runner
	// Pick is Run but for what it gives: for each entry of b.Logits a Pick at its
	// temperature, 0 or more, and no logits. A warm call allocates nothing.
	Pick(b *prog.Batch, temperatures []float32, picks []Pick) error
	// Row writes one whole row of the last Pick, which no Run or Pick has followed: row i
	// of b.Logits.
	Row(i int, logits []float32) error
}

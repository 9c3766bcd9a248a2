package num

// Softcap32 returns limit × tanh(x ÷ limit) for a positive limit, as
//
//	limit − 2 × limit ÷ (1 + e^(x × (2 ÷ limit)))
//
// each step rounded to float32: the limit at +Inf, its negative at −Inf. Safe for
// concurrent use.
func Softcap32(x, limit float32) float32 {
	t := Exp32(float32(x * float32(2/limit)))
	return limit - float32(float32(2*limit)/(1+t))
}

// Tanh32 returns the hyperbolic tangent of x as Softcap32 with limit 1 does. Safe
// for concurrent use.
func Tanh32(x float32) float32 { return Softcap32(x, 1) }

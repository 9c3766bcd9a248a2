package ptxsim

// builders are the instructions by the first part of their name. Each takes the
// modifiers it knows; what is left over makes the instruction unknown.
var builders = map[string]func(s *stmt, in *instr){
	"add": either(2), "sub": either(2), "mul": either(2), "mad": either(3), "fma": buildFloat(3),
	"div": either(2), "rem": buildInt(2), "min": either(2), "max": either(2), "abs": either(1), "neg": either(1),
	"and": buildInt(2), "or": buildInt(2), "xor": buildInt(2), "not": buildInt(1), "cnot": buildInt(1),
	"shl": buildInt(2), "shr": buildInt(2), "popc": buildInt(1), "clz": buildInt(1), "brev": buildInt(1), "bfe": buildInt(3), "sad": buildInt(3),
	"bfi": buildBfi, "bfind": buildBfind, "shf": buildShf, "prmt": buildPrmt, "lop3": buildLop3, "dp4a": buildDot, "dp2a": buildDot,
	"sqrt": buildFloat(1), "rcp": buildFloat(1), "rsqrt": buildFloat(1), "ex2": buildFloat(1), "lg2": buildFloat(1),
	"sin": buildFloat(1), "cos": buildFloat(1), "tanh": buildFloat(1), "copysign": buildFloat(2),
	"mov": buildMov, "cvt": buildCvt, "cvta": buildCvta, "selp": buildSelp, "slct": buildSlct, "setp": buildSetp, "set": buildSet,
	"ld": buildLd, "st": buildSt, "prefetch": buildPrefetch, "atom": buildAtomic, "red": buildAtomic, "cp": buildCp,
	"shfl": buildShfl, "vote": buildVote, "redux": buildRedux, "match": buildMatch, "activemask": buildActive,
	"bra": buildBra, "brx": buildBrx, "ret": buildLeave, "exit": buildLeave, "trap": buildTrap, "nanosleep": buildSleep,
	"bar": buildBar, "barrier": buildBar, "membar": buildFence, "fence": buildFence,
	"mma": buildMatrix, "ldmatrix": buildMatrix,
}

package chat

// library is all the tables a template's names are looked up in. Code reaches
// them through its run: the tables hold functions that look things up again, and
// Go allows no circle between package variables.
type library struct {
	filters, tests, globals map[string]*builtin
	methods                 map[string]map[string]*builtin // by Python's type name
}

func newLibrary() *library {
	return &library{
		filters: filters,
		tests:   tests,
		globals: globals,
		methods: map[string]map[string]*builtin{
			"str": strMethods, "Markup": strMethods,
			"dict": dictMethods, "list": listMethods, "tuple": tupleMethods, "range": tupleMethods,
			"int": intMethods, "bool": intMethods, "float": floatMethods,
			"LoopContext": loopMethods, "Cycler": cyclerMethods,
		},
	}
}

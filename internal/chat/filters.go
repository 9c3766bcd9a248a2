package chat

// filters are what can stand after "|".
var filters = map[string]*builtin{
	// text
	"upper":       textFilter("upper", upper),
	"lower":       textFilter("lower", lower),
	"capitalize":  textFilter("capitalize", capitalize),
	"title":       textFilter("title", titleWords),
	"trim":        {name: "trim", params: []param{{"chars", None}}, fn: doTrim},
	"string":      {name: "string", fn: doString},
	"safe":        {name: "safe", fn: doSafe},
	"escape":      {name: "escape", fn: doEscape},
	"e":           {name: "e", fn: doEscape},
	"forceescape": {name: "forceescape", fn: doForceEscape},
	"replace":     {name: "replace", params: []param{{"old", nil}, {"new", nil}, {"count", None}}, fn: doReplace},
	"indent":      {name: "indent", params: []param{{"width", integer(4)}, {"first", boolean(false)}, {"blank", boolean(false)}}, fn: doIndent},
	"format":      {name: "format", rest: true, kwrest: true, fn: doFormat},
	"center":      {name: "center", params: []param{{"width", integer(80)}}, fn: doCenter},
	"truncate":    {name: "truncate", params: []param{{"length", integer(255)}, {"killwords", boolean(false)}, {"end", text("...")}, {"leeway", integer(5)}}, fn: doTruncate},
	"wordcount":   {name: "wordcount", fn: doWordCount},
	"urlencode":   {name: "urlencode", fn: doURLEncode},
	"wordwrap":    {name: "wordwrap", params: []param{{"width", integer(79)}, {"break_long_words", boolean(true)}, {"wrapstring", None}, {"break_on_hyphens", boolean(true)}}, fn: doWordWrap},
	"xmlattr":     {name: "xmlattr", params: []param{{"autospace", boolean(true)}}, fn: doXMLAttr},
	"striptags":   {name: "striptags", fn: doStripTags},
	"tojson":      {name: "tojson", params: []param{{"ensure_ascii", boolean(false)}, {"indent", None}, {"separators", None}, {"sort_keys", boolean(false)}}, fn: doToJSON},

	// numbers
	"int":            {name: "int", params: []param{{"default", integer(0)}, {"base", integer(10)}}, fn: doInt},
	"float":          {name: "float", params: []param{{"default", float(0)}}, fn: doFloat},
	"abs":            {name: "abs", fn: doAbs},
	"round":          {name: "round", params: []param{{"precision", integer(0)}, {"method", text("common")}}, fn: doRound},
	"filesizeformat": {name: "filesizeformat", params: []param{{"binary", boolean(false)}}, fn: doFileSize},

	// any value
	"default": {name: "default", params: []param{{"default_value", text("")}, {"boolean", boolean(false)}}, fn: doDefault},
	"d":       {name: "d", params: []param{{"default_value", text("")}, {"boolean", boolean(false)}}, fn: doDefault},
	"attr":    {name: "attr", params: []param{{"name", nil}}, fn: doAttr},
	"length":  {name: "length", fn: doLength},
	"count":   {name: "count", fn: doLength},

	// sequences and mappings
	"list":     {name: "list", fn: doList},
	"items":    {name: "items", fn: doItems},
	"first":    {name: "first", fn: doFirst},
	"last":     {name: "last", fn: doLast},
	"reverse":  {name: "reverse", fn: doReverse},
	"join":     {name: "join", params: []param{{"d", text("")}, {"attribute", None}}, fn: doJoin},
	"sum":      {name: "sum", params: []param{{"attribute", None}, {"start", integer(0)}}, fn: doSum},
	"batch":    {name: "batch", params: []param{{"linecount", nil}, {"fill_with", None}}, fn: doBatch},
	"slice":    {name: "slice", params: []param{{"slices", nil}, {"fill_with", None}}, fn: doSlice},
	"sort":     {name: "sort", params: []param{{"reverse", boolean(false)}, {"case_sensitive", boolean(false)}, {"attribute", None}}, fn: doSort},
	"dictsort": {name: "dictsort", params: []param{{"case_sensitive", boolean(false)}, {"by", text("key")}, {"reverse", boolean(false)}}, fn: doDictSort},
	"groupby":  {name: "groupby", params: []param{{"attribute", nil}, {"default", None}, {"case_sensitive", boolean(false)}}, fn: doGroupBy},
	"unique":   {name: "unique", params: []param{{"case_sensitive", boolean(false)}, {"attribute", None}}, fn: doUnique},
	"min":      {name: "min", params: []param{{"case_sensitive", boolean(false)}, {"attribute", None}}, fn: extremeFilter("<")},
	"max":      {name: "max", params: []param{{"case_sensitive", boolean(false)}, {"attribute", None}}, fn: extremeFilter(">")},

	// filters over filters and tests
	"map":        {name: "map", rest: true, kwrest: true, fn: doMap},
	"select":     {name: "select", rest: true, kwrest: true, fn: selectFilter(true, false)},
	"reject":     {name: "reject", rest: true, kwrest: true, fn: selectFilter(false, false)},
	"selectattr": {name: "selectattr", rest: true, kwrest: true, fn: selectFilter(true, true)},
	"rejectattr": {name: "rejectattr", rest: true, kwrest: true, fn: selectFilter(false, true)},
}

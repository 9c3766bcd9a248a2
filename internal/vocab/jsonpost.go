package vocab

// around is what a post-processor puts before and after a text.
type around struct {
	before, after []int32
}

// maxAround bounds those ids; real files have up to 3.
const maxAround = 256

// postProcessor reads a post-processor or null. What it does to pairs of texts is
// nothing that a request can ask for.
func (s *jsonScan) postProcessor() around {
	var typ string
	var list []around
	var single []string // the template: names of tokens, "" for the text
	names := map[string][]int32{}
	var cls, sep int32
	null := true
	s.orNull(func() {
		null = false
		s.object(true, func(key string) {
			switch key {
			case "type":
				typ = s.text()
			case "processors":
				s.array(func(int) { list = append(list, s.postProcessor()) })
			case "single":
				s.array(func(int) { single = append(single, s.templatePart()) })
			case "special_tokens":
				s.object(true, func(name string) { names[name] = s.templateToken() })
			case "cls":
				cls = s.namedID()
			case "sep":
				sep = s.namedID()
			case "pair", "trim_offsets", "add_prefix_space", "use_regex":
				s.skip()
			default:
				s.fail("this field is not known here")
			}
		})
	})
	var a around
	switch {
	case null || s.err != nil:
	case typ == "ByteLevel":
	case typ == "Sequence":
		for _, x := range list {
			a.before, a.after = append(x.before, a.before...), append(a.after, x.after...)
		}
	case typ == "BertProcessing" || typ == "RobertaProcessing":
		a = around{[]int32{cls}, []int32{sep}}
	case typ == "TemplateProcessing":
		a = s.template(single, names)
	default:
		s.fail("the post-processor %q is not known here", shorten(typ))
	}
	if len(a.before)+len(a.after) > maxAround {
		s.fail("%d tokens around a text, at most %d", len(a.before)+len(a.after), maxAround)
	}
	return a
}

// template resolves the names of a template, which holds the text once.
func (s *jsonScan) template(single []string, names map[string][]int32) (a around) {
	texts := 0
	for _, name := range single {
		if name == "" {
			texts++
			continue
		}
		ids, ok := names[name]
		switch {
		case !ok:
			s.fail("the template's token %q is not among special_tokens", shorten(name))
		case texts == 0:
			a.before = append(a.before, ids...)
		default:
			a.after = append(a.after, ids...)
		}
		if len(a.before)+len(a.after) > maxAround {
			s.fail("more than %d tokens around a text", maxAround)
			return around{}
		}
	}
	if texts != 1 {
		s.fail("a template with the text %d times, must be once", texts)
	}
	return a
}

// templatePart reads a token's name, or "" for the text.
func (s *jsonScan) templatePart() (name string) {
	s.object(true, func(kind string) {
		s.object(true, func(key string) {
			if key != "id" {
				s.skip()
				return
			}
			id := s.text()
			switch {
			case kind == "SpecialToken" && id != "":
				name = id
			case kind == "Sequence" && id == "A":
			default:
				s.fail("want a SpecialToken, or the Sequence A")
			}
		})
	})
	return name
}

func (s *jsonScan) templateToken() (ids []int32) {
	s.object(true, func(key string) {
		if key != "ids" {
			s.skip()
			return
		}
		s.array(func(i int) {
			if i == maxAround {
				s.fail("more than %d ids", maxAround)
			}
			ids = append(ids, int32(s.integer(maxID)))
		})
	})
	return ids
}

// namedID reads ["[SEP]", 102].
func (s *jsonScan) namedID() (id int32) {
	s.array(func(i int) {
		switch i {
		case 0:
			s.text()
		case 1:
			id = int32(s.integer(maxID))
		default:
			s.fail("want a token and its id")
		}
	})
	return id
}

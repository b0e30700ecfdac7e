package transform

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

var textFunctions = []Function{
	{Name: "len", Params: []Type{TypeAny}, Min: 1, Result: TypeInt, kinds: []Type{TypeString, TypeList, TypeObject}, Example: `len(user)`, Help: "characters of a string, elements of a list, members of an object", run: runLen},
	{Name: "lower", Params: []Type{TypeString}, Min: 1, Result: TypeString, Example: `lower(country)`, Help: "the text in lower case", run: runLower},
	{Name: "upper", Params: []Type{TypeString}, Min: 1, Result: TypeString, Example: `upper(country)`, Help: "the text in upper case", run: runUpper},
	{Name: "trim", Params: []Type{TypeString, TypeString}, Min: 1, Result: TypeString, Example: `trim(name)`, Help: "without white space, or the characters of the second argument, at both ends", run: runTrim},
	{Name: "trimPrefix", Params: []Type{TypeString, TypeString}, Min: 2, Result: TypeString, Example: `trimPrefix(path, "/")`, Help: "without the beginning, if it has it", run: func(_ *machine, a []value) value {
		return textValue(bytes.TrimPrefix(a[0].text, a[1].text))
	}},
	{Name: "trimSuffix", Params: []Type{TypeString, TypeString}, Min: 2, Result: TypeString, Example: `trimSuffix(host, ".local")`, Help: "without the end, if it has it", run: func(_ *machine, a []value) value {
		return textValue(bytes.TrimSuffix(a[0].text, a[1].text))
	}},
	{Name: "replace", Params: []Type{TypeString, TypeString, TypeString}, Min: 3, Result: TypeString, Example: `replace(phone, "-", "")`, Help: "every occurrence of the second text replaced by the third", run: runReplace},
	{Name: "split", Params: []Type{TypeString, TypeString}, Min: 2, Result: TypeList, Example: `split(path, "/")[1]`, Help: "the parts between the separators", run: runSplit},
	{Name: "join", Params: []Type{TypeList, TypeString}, Min: 2, Result: TypeString, Example: `join(tags, ",")`, Help: "the elements with the separator between them", run: runJoin},
	{Name: "indexOf", Params: []Type{TypeString, TypeString}, Min: 2, Result: TypeInt, Example: `indexOf(mail, "@")`, Help: "how many characters stand before the second text; -1 when it is not there", run: runIndexOf},
}

func runLen(m *machine, a []value) value {
	v := a[0]
	if v.kind == batch.String {
		return intValue(int64(utf8.RuneCount(v.text)))
	}
	if v.list != nil {
		return intValue(int64(len(v.list.items)))
	}
	if v.kind == batch.JSON {
		n := 0
		if elements(v.text, func([]byte) bool { n++; return true }) {
			return intValue(int64(n))
		}
		names := map[string]bool{}
		if members(v.text, func(name, _ []byte) bool { names[string(fromJSON(name).text)] = true; return true }) {
			return intValue(int64(len(names)))
		}
	}
	return m.fail("len takes a string, a list or an object, not %s", describe(v))
}

func runLower(m *machine, a []value) value {
	return m.letters(a[0].text, 'A', 'Z', bytes.ToLower)
}

func runUpper(m *machine, a []value) value {
	return m.letters(a[0].text, 'a', 'z', bytes.ToUpper)
}

// letters changes the case of ASCII in the row's own memory, and leaves other texts to the library.
func (m *machine) letters(text []byte, from, to byte, other func([]byte) []byte) value {
	change := false
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return textValue(other(text))
		}
		change = change || c >= from && c <= to
	}
	if !change {
		return textValue(text)
	}
	at := len(m.text)
	for _, c := range text {
		if c >= from && c <= to {
			c ^= 0x20
		}
		m.text = append(m.text, c)
	}
	return textValue(m.text[at:len(m.text):len(m.text)])
}

func runTrim(_ *machine, a []value) value {
	if len(a) == 1 {
		return textValue(bytes.TrimSpace(a[0].text))
	}
	return textValue(bytes.Trim(a[0].text, string(a[1].text)))
}

func runReplace(m *machine, a []value) value {
	text, old, with := a[0].text, a[1].text, a[2].text
	if len(old) == 0 {
		return m.fail("replace: the text to be replaced is empty")
	}
	if grown := len(text) + bytes.Count(text, old)*(len(with)-len(old)); grown > maxText {
		return m.fail("replace would make a text of %d bytes; the limit is %d", grown, maxText)
	}
	at := len(m.text)
	for {
		i := bytes.Index(text, old)
		if i < 0 {
			break
		}
		m.text = append(append(m.text, text[:i]...), with...)
		text = text[i+len(old):]
	}
	m.text = append(m.text, text...)
	return textValue(m.text[at:len(m.text):len(m.text)])
}

// maxText bounds what one function can make out of a row, so that a row cannot take the memory of all.
const maxText = 16 << 20

func runSplit(m *machine, a []value) value {
	if len(a[1].text) == 0 {
		return m.fail("split: the separator is empty")
	}
	l := &list{}
	for _, part := range bytes.Split(a[0].text, a[1].text) {
		l.items = append(l.items, textValue(part))
	}
	return value{kind: batch.JSON, list: l}
}

func runJoin(m *machine, a []value) value {
	items, _ := m.items(a[0])
	at := len(m.text)
	for i, e := range items {
		if i > 0 {
			m.text = append(m.text, a[1].text...)
		}
		if !e.isNull() {
			m.text = appendText(m.text, e)
		}
		if len(m.text)-at > maxText {
			return m.fail("join would make a text of more than %d bytes", maxText)
		}
	}
	return textValue(m.text[at:len(m.text):len(m.text)])
}

func runIndexOf(_ *machine, a []value) value {
	i := bytes.Index(a[0].text, a[1].text)
	if i < 0 {
		return intValue(-1)
	}
	return intValue(int64(utf8.RuneCount(a[0].text[:i])))
}

func runToJSON(m *machine, a []value) value {
	at := len(m.text)
	m.text = appendJSON(m.text, a[0])
	return textValue(m.text[at:len(m.text):len(m.text)])
}

func runFromJSON(m *machine, a []value) value {
	if !json.Valid(a[0].text) {
		return m.fail("%s is not JSON", describe(a[0]))
	}
	return fromJSON(a[0].text)
}

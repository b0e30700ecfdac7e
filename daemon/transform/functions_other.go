package transform

import "github.com/tidemark-stream/tidemark/sdk/batch"

var otherFunctions = []Function{
	{Name: "string", Params: []Type{TypeAny}, Min: 1, Result: TypeString, Example: `string(code)`, Help: "the value as text: numbers in decimal, times as RFC 3339, lists and objects as JSON", run: runString},
	{Name: "type", Params: []Type{TypeAny}, Min: 1, Result: TypeString, Example: `type(x) == "int"`, Help: "what the value is: null, bool, int, float, string, timestamp, list or object", nulls: true, run: runType},
	{Name: "coalesce", Params: []Type{TypeAny}, Min: 1, More: true, Result: TypeAny, Example: `coalesce(nick, name, "?")`, Help: "the first argument that is not null; a ?? b does the same for two", nulls: true, run: runCoalesce, result: joinedAll},
	{Name: "toJSON", Params: []Type{TypeAny}, Min: 1, Result: TypeString, Example: `toJSON(items)`, Help: "the value as JSON text", nulls: true, run: runToJSON},
	{Name: "fromJSON", Params: []Type{TypeString}, Min: 1, Result: TypeAny, Example: `fromJSON(payload).id`, Help: "the value of a JSON text", run: runFromJSON},
}

func joinedAll(args []Type) Type {
	t := args[0]
	for _, a := range args[1:] {
		t = joined(t, a)
	}
	return t
}

func runString(m *machine, a []value) value {
	if a[0].kind == batch.String {
		return a[0]
	}
	at := len(m.text)
	m.text = appendText(m.text, a[0])
	return textValue(m.text[at:len(m.text):len(m.text)])
}

func runType(_ *machine, a []value) value {
	v := a[0]
	name := v.kind.String()
	switch {
	case v.isNull():
		name = "null"
	case v.kind == batch.Uint:
		name = "int"
	case v.isJSONNumber():
		name = "float"
	case v.kind == batch.JSON:
		name = "object"
		if v.isList() {
			name = "list"
		}
	}
	return textValue([]byte(name))
}

func runCoalesce(_ *machine, a []value) value {
	for _, v := range a {
		if !v.isNull() {
			return v
		}
	}
	return null
}

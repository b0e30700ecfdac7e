package transform

import (
	"slices"

	"github.com/tidemark-stream/tidemark/sdk/batch"
)

// Function describes one function of the language, for checking and for documentation.
type Function struct {
	Name    string
	Params  []Type // the last one is repeated when More is set
	Min     int    // arguments that must be there
	More    bool
	Result  Type
	Example string
	Help    string

	kinds  []Type // what the first argument has to be one of; nil: its parameter says it all
	nulls  bool   // it is called for null arguments, too; otherwise a null argument makes the result null
	run    func(m *machine, args []value) value
	result func(args []Type) Type // instead of Result, when it depends on the arguments
}

// Functions lists the functions in the order in which the documentation shows them, without those that take a condition over the
// elements of a list (see Predicates).
func Functions() []Function {
	return slices.Concat(textFunctions, numberFunctions, otherFunctions, timeFunctions)
}

// Predicates lists the functions over the elements of a list, in which # is the element, .name a member of it and #index its number.
func Predicates() []Function {
	p := func(name string, result Type, example, help string) Function {
		return Function{Name: name, Params: []Type{TypeList, TypeAny}, Min: 2, Result: result, Example: example, Help: help}
	}
	list := []Function{
		p("all", TypeBool, `all(items, .price > 0)`, "whether the condition is true for every element"),
		p("any", TypeBool, `any(tags, # == "vip")`, "whether it is true for one at least"),
		p("none", TypeBool, `none(items, .returned)`, "whether it is true for none"),
		p("one", TypeBool, `one(items, .main)`, "whether it is true for exactly one"),
		p("count", TypeInt, `count(items, .price > 10)`, "for how many it is true"),
		p("filter", TypeList, `filter(items, .price > 10)`, "the elements for which it is true"),
		p("find", TypeAny, `find(items, .id == 7)`, "the first of them, or null"),
		p("map", TypeList, `map(items, .price * .quantity)`, "the list of the expression's values"),
		p("sum", TypeNumber, `sum(items, .price)`, "the sum of the expression's values, or of the elements; nulls are left out"),
	}
	list[len(list)-1].Min = 1
	return list
}

// callNode is a call of a function.
type callNode struct {
	typed
	f    *Function
	args []node
}

func (n *callNode) compute(m *machine) value {
	base := len(m.args)
	v, ok := n.arguments(m)
	if ok {
		v = n.f.run(m, m.args[base:])
	}
	m.args = m.args[:base]
	return v
}

// arguments puts the arguments onto the stack; false, with the result, when there is nothing to call.
func (n *callNode) arguments(m *machine) (value, bool) {
	for i, a := range n.args {
		v := a.compute(m)
		switch {
		case v.kind == failed:
			return v, false
		case v.isNull():
			if !n.f.nulls {
				return null, false
			}
		default:
			var ok bool
			if v, ok = v.as(n.f.param(i)); !ok {
				return m.fail("%s takes %s, not %s", n.f.Name, n.f.param(i).people(), describe(v)), false
			}
		}
		m.args = append(m.args, v)
	}
	return null, true
}

func (n *callNode) columnar(m *machine, sel []uint32, out *batch.Column) { rowByRow(n, m, sel, out) }

func (f *Function) param(i int) Type { return f.Params[min(i, len(f.Params)-1)] }

// as checks that v is of a type, and brings numbers into a form that can be computed with.
func (v value) as(t Type) (value, bool) {
	switch t {
	case TypeString:
		return v, v.kind == batch.String
	case TypeNumber, TypeFloat:
		if v.isNumber() {
			return v.number(), true
		}
		return v, false
	case TypeInt:
		return v, v.kind == batch.Int
	case TypeBool:
		return v, v.kind == batch.Bool
	case TypeTime:
		return v, v.kind == batch.Time
	case TypeList:
		return v, v.isList()
	}
	return v, true
}

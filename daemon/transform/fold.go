package transform

import "github.com/tidemark-stream/tidemark/sdk/batch"

// typeOf is the type of a value that is known; static is what was known of it before.
func typeOf(v value, static Type) Type {
	switch v.kind {
	case batch.Null, batch.Missing:
		return TypeNull
	case batch.Bool:
		return TypeBool
	case batch.Int, batch.Uint:
		return TypeInt
	case batch.Float:
		return TypeFloat
	case batch.String:
		return TypeString
	case batch.Time:
		return TypeTime
	}
	return static
}

// foldable is true for a node that is not a constant and has only constants below it.
func foldable(n node) bool {
	constants := func(list ...node) bool {
		for _, x := range list {
			if x == nil {
				continue
			}
			if _, ok := x.(*constNode); !ok {
				return false
			}
		}
		return true
	}
	switch n := n.(type) {
	case *compareNode:
		return constants(n.left, n.right)
	case *arithNode:
		return constants(n.left, n.right)
	case *textNode:
		return constants(n.left, n.right)
	case *matchNode:
		return constants(n.left, n.right)
	case *logicNode:
		return constants(n.left, n.right)
	case *elseNode:
		return constants(n.first, n.second)
	case *condNode:
		return constants(n.cond, n.yes, n.no)
	case *notNode:
		return constants(n.of)
	case *signNode:
		return constants(n.of)
	case *plusNode:
		return constants(n.of)
	case *nullNode:
		return constants(n.of)
	case *inNode:
		return constants(n.of, n.list)
	case *callNode:
		return constants(n.args...)
	case *listNode:
		return constants(n.items...)
	case *objectNode:
		return constants(n.names...) && constants(n.values...)
	case *memberNode:
		return constants(n.of, n.key)
	case *sliceNode:
		return constants(n.of, n.from, n.to)
	}
	return false
}

package transform

import "github.com/tidemark-stream/tidemark/sdk/batch"

// slowNode hides a node's columnar loops.
type slowNode struct{ node }

func (n *slowNode) columnar(m *machine, sel []uint32, out *batch.Column) {
	rowByRow(n.node, m, sel, out)
}

package shard

import (
	"github.com/tidemark-stream/tidemark/daemon/rowkey"
	"github.com/tidemark-stream/tidemark/daemon/window"
	"github.com/tidemark-stream/tidemark/sdk/batch"
)

type messageKind uint8

const (
	rowsMessage    messageKind = iota // rows and marks
	statusMessage                     // the stage's idle state has changed
	clockMessage                      // processing time has moved
	barrierMessage                    // take a snapshot
)

// Message is what all shards of a stage get, in the same order. Shards read it at the same time; the collector, which is the last
// to see it, gives it back.
type Message struct {
	kind    messageKind
	batch   *batch.Batch
	keys    rowkey.Keys
	index   [][]uint32 // rows of each shard, ascending
	marks   []batch.Mark
	now     int64 // processing time, ms; 0 where the operator does not ask for it
	idle    bool
	barrier uint64
}

// reply is what one shard made of one message.
type reply struct {
	message  *Message
	results  *batch.Batch
	segments []segment
	late     []uint32
	more     bool // another reply to the same message follows
}

// segment is a window.Segment with its step: rows before the k-th mark are step 2k, the mark itself is step 2k+1.
type segment struct {
	step uint32
	window.Segment
}

func (a segment) before(b segment) bool {
	if a.step != b.step {
		return a.step < b.step
	}
	if a.Place != b.Place {
		return a.Place < b.Place
	}
	if a.At != b.At {
		return a.At < b.At
	}
	return a.End < b.End
}

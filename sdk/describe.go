package sdk

import (
	"github.com/tidemark-stream/tidemark/sdk/batch"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// What a plugin says about itself, see package wire.
type (
	Description  = wire.Description
	Kind         = wire.Kind
	Style        = wire.Style
	Option       = wire.Option
	OptionType   = wire.OptionType
	OptionError  = wire.OptionError
	OptionErrors = wire.OptionErrors
	OptionReason = wire.OptionReason
	FieldSpec    = wire.Field
	CellType     = wire.CellType
	Delivery     = wire.Delivery
)

const (
	KindSource    = wire.KindSource
	KindAssigner  = wire.KindAssigner
	KindTransform = wire.KindTransform
	KindAggregate = wire.KindAggregate
	KindWindow    = wire.KindWindow
	KindSink      = wire.KindSink

	Periodic   = wire.Periodic
	Punctuated = wire.Punctuated
	Marker     = wire.Marker

	AtLeastOnce   = wire.AtLeastOnce
	Idempotent    = wire.Idempotent
	Transactional = wire.Transactional

	StringOption   = wire.StringOption
	IntOption      = wire.IntOption
	FloatOption    = wire.FloatOption
	BoolOption     = wire.BoolOption
	DurationOption = wire.DurationOption
	SizeOption     = wire.SizeOption
	StringsOption  = wire.StringsOption
	TableOption    = wire.TableOption
	FieldOption    = wire.FieldOption
	ExprOption     = wire.ExprOption
)

// Watermark is event time in milliseconds: records up to and including it are not expected any more.
type Watermark int64

const (
	// NoWatermark says that nothing is known yet.
	NoWatermark Watermark = batch.NoWatermark
	// EndOfInput is above every timestamp.
	EndOfInput Watermark = batch.EndOfInput
	// NoTimestamp, as a timestamp, says that a record has none.
	NoTimestamp int64 = batch.NoTimestamp
)

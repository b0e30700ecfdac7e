package decode

// Codes of notices.
const (
	NoticeExtraColumns    = "extra_columns"    // rows are longer than the header and the rest is ignored
	NoticeNoColumn        = "no_column"        // a header lacks a wanted column; rows are refused for it
	NoticeBadHeader       = "bad_header"       // a header is no text; rows are refused for it
	NoticeTwice           = "named_twice"      // a header has one name for two columns
	NoticeCarriageReturns = "carriage_returns" // a header that may be the whole input
	NoticeImplausible     = "implausible"      // times that hardly anybody means: the unit is probably wrong
)

// Notice is something worth telling people once: no row is refused for it. Several workers may have the same one; show each
// code once for each source.
type Notice struct {
	Code    string
	Message string
	Severe  bool // an error rather than a warning: a source of which no row has been decoded yet had better be stopped
}

// noticer is what a format implements that has notices.
type noticer interface {
	notice() (Notice, bool)
}

// Notices returns what has come up since the last call; mostly nothing.
func (d *Decoder) Notices() []Notice {
	var all []Notice
	if f, ok := d.format.(noticer); ok {
		for n, ok := f.notice(); ok; n, ok = f.notice() {
			all = append(all, n)
		}
	}
	for i := range d.fields {
		if t := d.fields[i].times; t != nil {
			if n, ok := t.Notice(); ok {
				all = append(all, n)
			}
		}
	}
	return all
}

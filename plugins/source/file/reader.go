package file

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/tidemark-stream/tidemark/plugins/framing"
	"github.com/tidemark-stream/tidemark/plugins/source/stream"
	"github.com/tidemark-stream/tidemark/sdk"
)

// damaged is the code of the reject that a damaged file gives.
const damaged = "damaged"

// reader is one generation's open file.
type reader struct {
	g    *generation
	f    *os.File
	id   id
	size int64  // when it was opened
	pos  int64  // bytes read of the file itself
	seen window // what was read of it; fingerprints are taken of this, since the file may have changed since

	packedHead fingerprint // compressed: of the file when it was opened

	packed   io.Reader // what comes out of a compressed file; nil for others
	unpacker func()    // frees it

	part *sdk.Partition[[]byte]
	st   *stream.Stream
}

// newReader reads a generation's file on from where the generation stands. It takes the candidate's file over.
func (s *source) newReader(c *candidate, g *generation, part *sdk.Partition[[]byte]) (*reader, error) {
	r := &reader{g: g, f: c.f, id: c.id, size: c.size, part: part, unpacker: func() {}}
	var at framing.Place
	if g.known {
		at = g.at.Place
	}
	err := s.start(r, at)
	if err == nil {
		r.st, err = stream.New(part, s.framing, at, r.position)
	}
	if err != nil {
		r.close()
		return nil, fmt.Errorf("read %s: %w", c.path, err)
	}
	return r, nil
}

func (s *source) start(r *reader, at framing.Place) error {
	packing, err := s.packing(r.f)
	if err != nil {
		return err
	}
	if packing == "" {
		r.pos = at.Offset
		if err := r.seen.start(r.f, at.Offset); err != nil {
			return err
		}
		_, err := r.f.Seek(at.Offset, io.SeekStart)
		return err
	}
	r.packedHead, _ = headOf(r.f, int(min(r.size, headBytes)))
	r.packed, r.unpacker, err = unpack(packing, &counted{r: r.f, n: &r.pos})
	if err != nil {
		r.packed, r.unpacker = failing{err}, func() {}
		return nil
	}
	if _, err := io.CopyN(io.Discard, r.packed, at.Offset); err != nil {
		r.packed = failing{err}
	}
	return nil
}

// position is what a checkpoint holds behind a batch.
func (r *reader) position(at framing.Place) []byte {
	p := position{Place: at, ID: r.id, Packed: r.packed != nil, Size: r.size, Head: r.packedHead}
	if !p.Packed {
		p.Head, p.Guard = r.seen.head(at.Offset), r.guard(at.Offset)
	}
	r.g.at, r.g.known = p, true
	return p.encode()
}

// Read is for the stream only.
func (r *reader) Read(p []byte) (int, error) {
	if r.packed != nil {
		return r.packed.Read(p)
	}
	n, err := r.f.Read(p)
	r.pos += int64(n)
	r.seen.add(p[:n])
	return n, err
}

// guard is the fingerprint of what was read before an offset.
func (r *reader) guard(offset int64) fingerprint {
	if fp, ok := r.seen.guard(offset); ok {
		return fp
	}
	fp, _ := guardOf(r.f, offset) // far behind where reading is: the file is as it was
	return fp
}

// turn reads until a batch has been sent or the end is met: the same stretch of the file each time it is read from there.
func (r *reader) turn() (end bool, err error) {
	sent := r.st.Place().Offset
	for r.st.Place().Offset == sent {
		if _, err := r.st.Fill(r); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	return false, nil
}

// finish ends the partition; the file has been read to its end, or cannot be read any further.
func (r *reader) finish(last framing.End) error {
	if err := r.st.End(last); err != nil {
		return err
	}
	r.g.ended = true
	return r.part.End()
}

// broken reports whether err says that a compressed file is damaged, or none that can be read, which no second try mends. Then it tells so,
// and rejects the rest of it.
func (r *reader) broken(log hclog.Logger, path string, err error) (bool, error) {
	var sending *stream.SendError
	if r.packed == nil || errors.As(err, &sending) {
		return false, err
	}
	message := fmt.Sprintf("%s is damaged or cut short: %v; what stands before that was read", path, err)
	if other := (unreadable{}); errors.As(err, &other) {
		message = fmt.Sprintf("%s %v", path, err)
	}
	log.Error("a file cannot be read any further", "path", path, "reason", message)
	return true, r.st.Reject(damaged, message)
}

func (r *reader) close() {
	if r.st != nil {
		r.st.Drop()
	}
	r.unpacker()
	_ = r.f.Close()
}

package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// signatures are what compressed files, and others that hold no text, begin with.
var signatures = []struct{ packing, first string }{
	{"gzip", "\x1f\x8b"},
	{"zstd", "\x28\xb5\x2f\xfd"},
	{"xz", "\xfd7zXZ\x00"},
	{"bzip2", "BZh91AY&SY"},
	{"lz4", "\x04\x22\x4d\x18"},
	{"zip", "PK\x03\x04"},
	{"7z", "7z\xbc\xaf\x27\x1c"},
	{"Parquet", "PAR1\x15"},
	{"Avro", "Obj\x01"},
}

// unreadable says that a file is packed in a way that this source does not know.
type unreadable struct{ packing string }

func (u unreadable) Error() string {
	return fmt.Sprintf("is a file of %s, which is not read (gzip and zstd are); unpack it first, or leave it out with exclude; compression = \"none\" reads it as text", u.packing)
}

// packing says how a file is compressed: "" for not at all.
func (c *Config) packing(f io.ReaderAt) (string, error) {
	switch c.Compression {
	case "none":
		return "", nil
	case "gzip", "zstd":
		return c.Compression, nil
	}
	var first [10]byte
	n, err := f.ReadAt(first[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	for _, s := range signatures {
		if bytes.HasPrefix(first[:n], []byte(s.first)) {
			return s.packing, nil
		}
	}
	return "", nil
}

// unpack returns what comes out of a compressed file, and a function that frees it.
func unpack(packing string, raw io.Reader) (io.Reader, func(), error) {
	switch packing {
	case "gzip":
		in := bufio.NewReader(raw)
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, err
		}
		z.Multistream(false)
		return full{&members{in, z}}, func() {}, nil
	case "zstd":
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return full{z}, z.Close, nil
	}
	return nil, nil, unreadable{packing}
}

// members reads the members of a gzip file, one behind the other. Zeros up to the end of the file, which tapes and block devices leave, are
// no damage; gzip takes them for nothing, too.
type members struct {
	in *bufio.Reader
	z  *gzip.Reader // of one member
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		switch {
		case err != io.EOF:
			return n, err
		case n > 0:
			return n, nil
		}
		padded := false
		for {
			c, err := m.in.ReadByte()
			if err != nil {
				return 0, err // the end, mostly
			}
			if c != 0 {
				break
			}
			padded = true
		}
		if padded {
			return 0, gzip.ErrHeader
		}
		if err := m.in.UnreadByte(); err != nil {
			return 0, err
		}
		if err := m.z.Reset(m.in); err != nil {
			return 0, err
		}
		m.z.Multistream(false)
	}
}

// full fills its buffer, so that what a read gives does not depend on the blocks of the compression.
type full struct{ r io.Reader }

func (f full) Read(p []byte) (int, error) {
	n, err := io.ReadFull(f.r, p)
	if errors.Is(err, io.ErrUnexpectedEOF) && n > 0 {
		// Either the end of the input or a file that is cut: the next read tells.
		err = nil
	}
	return n, err
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n *int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	*c.n += int64(n)
	return n, err
}

// failing is a compressed file that cannot be read at all.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if errors.Is(f.err, io.EOF) {
		return 0, io.ErrUnexpectedEOF
	}
	return 0, f.err
}

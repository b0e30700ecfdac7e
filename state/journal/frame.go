package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// A segment file is a header and frames, all numbers little endian:
//
//	header   "TMJOURNL" (8) | version (4) | first number (8) | follows (8) | crc32c of the bytes before (4)
//	frame    "TMJ1" (4) | payload length (4) | number (8) | synced (8) | crc32c of the bytes before and the payload (4) | payload
//
// follows is the number behind the last record of the segment before; it is below the first number where numbers were left out because
// records were lost (SyncNone). synced is how many bytes of this file were known to be on the disk when the frame was written.
const (
	headerMagic   = "TMJOURNL"
	headerVersion = 1 // the first one
	headerSize    = 8 + 4 + 8 + 8 + 4
	frameMagic    = "TMJ1"
	frameHeader   = 4 + 4 + 8 + 8 + 4

	// MaxRecord is the largest payload of a record in bytes.
	MaxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendHeader(dst []byte, first, follows uint64) []byte {
	at := len(dst)
	dst = append(dst, headerMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, headerVersion)
	dst = binary.LittleEndian.AppendUint64(dst, first)
	dst = binary.LittleEndian.AppendUint64(dst, follows)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

// beginFrame leaves room for a frame's header; endFrame fills it in once the payload stands behind it.
func beginFrame(dst []byte) []byte { return append(dst, make([]byte, frameHeader)...) }

func endFrame(frame []byte, number uint64, synced int64) {
	copy(frame, frameMagic)
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)-frameHeader))
	binary.LittleEndian.PutUint64(frame[8:], number)
	binary.LittleEndian.PutUint64(frame[16:], uint64(synced))
	binary.LittleEndian.PutUint32(frame[24:], frameChecksum(frame))
}

func frameChecksum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[:24], castagnoli), castagnoli, frame[frameHeader:])
}

// ending says why a reader stopped.
type ending uint8

const (
	clean  ending = iota // at the end of the file, behind a whole frame
	torn                 // what follows was never synced as far as one can see
	damage               // what follows was on the disk once
)

// reader goes through the frames of one segment.
type reader struct {
	r       io.ReaderAt
	size    int64
	follows uint64 // of the header
	next    uint64 // number of the frame at offset
	offset  int64  // of the first byte not yet read
	ending  ending
	payload []byte // of the current frame; reused
	err     error  // of the disk
}

// newReader reads the header. ok is false when there is none that is whole.
func newReader(r io.ReaderAt, size int64) (rd *reader, ok bool, err error) {
	var h [headerSize]byte
	if size < headerSize {
		return nil, false, nil
	}
	if err := readFull(r, h[:], 0); err != nil {
		return nil, false, err
	}
	if string(h[:8]) != headerMagic || binary.LittleEndian.Uint32(h[8:]) != headerVersion ||
		binary.LittleEndian.Uint32(h[headerSize-4:]) != crc32.Checksum(h[:headerSize-4], castagnoli) {
		return nil, false, nil
	}
	return &reader{
		r: r, size: size, offset: headerSize,
		next: binary.LittleEndian.Uint64(h[12:]), follows: binary.LittleEndian.Uint64(h[20:]),
	}, true, nil
}

// frame reads the next frame; false means the end (see ending) or an error of the disk (see err).
func (r *reader) frame() bool {
	if r.offset == r.size {
		r.ending = clean
		return false
	}
	n, ok, err := r.frameAt(r.offset, r.next)
	if err != nil {
		r.err = err
		return false
	}
	if !ok {
		r.ending, r.err = r.judge()
		return false
	}
	r.offset += n
	r.next++
	return true
}

// frameAt reads the frame at an offset into payload. Number 0 accepts any.
func (r *reader) frameAt(offset int64, number uint64) (size int64, ok bool, err error) {
	var h [frameHeader]byte
	if r.size-offset < frameHeader {
		return 0, false, nil
	}
	if err := readFull(r.r, h[:], offset); err != nil {
		return 0, false, err
	}
	n := int64(binary.LittleEndian.Uint32(h[4:]))
	if string(h[:4]) != frameMagic || n > MaxRecord || n > r.size-offset-frameHeader ||
		number != 0 && binary.LittleEndian.Uint64(h[8:]) != number {
		return 0, false, nil
	}
	if int64(cap(r.payload)) < n {
		r.payload = make([]byte, n)
	}
	r.payload = r.payload[:n]
	if err := readFull(r.r, r.payload, offset+frameHeader); err != nil {
		return 0, false, err
	}
	sum := crc32.Update(crc32.Checksum(h[:24], castagnoli), castagnoli, r.payload)
	return frameHeader + n, sum == binary.LittleEndian.Uint32(h[24:]), nil
}

// judge looks at what follows a place that is no frame: one whole frame behind it that says the place was synced makes it damage.
func (r *reader) judge() (ending, error) {
	const step = 64 << 10
	buf := make([]byte, step+len(frameMagic)-1)
	for at := r.offset + 1; at < r.size; at += step {
		piece := buf[:min(int64(len(buf)), r.size-at)]
		if err := readFull(r.r, piece, at); err != nil {
			return damage, err
		}
		for from := 0; ; {
			i := bytes.Index(piece[from:], []byte(frameMagic))
			if i < 0 || from+i >= step {
				break
			}
			offset := at + int64(from+i)
			_, ok, err := r.frameAt(offset, 0)
			if err != nil {
				return damage, err
			}
			if ok {
				var h [frameHeader]byte
				if err := readFull(r.r, h[:], offset); err != nil {
					return damage, err
				}
				if binary.LittleEndian.Uint64(h[8:]) > r.next && int64(binary.LittleEndian.Uint64(h[16:])) > r.offset {
					return damage, nil
				}
			}
			from += i + 1
		}
	}
	return torn, nil
}

func readFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

package limit

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// event is what is read of a line.
type event struct {
	key, keyEnd int // place of the key's text
	ts          int64
	value       float64
}

// pow10 holds powers of ten that divide exactly what has at most 15 digits.
var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// line scans one flat JSON object that begins at data[i] and returns the place behind its line feed. Fields may stand in any order; strings
// have no escapes. At least 8 bytes stand behind the last line, so that strings can be searched in words.
func line(data []byte, i int, e *event) (int, error) {
	if data[i] != '{' {
		return i, fmt.Errorf("a record that begins with %q", data[i])
	}
	i++
	seen := 0
	for {
		if data[i] != '"' {
			return i, fmt.Errorf("a name that begins with %q", data[i])
		}
		name := i + 1
		i = quote(data, name)
		length := i - name
		if i++; data[i] != ':' {
			return i, fmt.Errorf("%q after a name", data[i])
		}
		i++
		switch {
		case length == 3 && data[name] == 'k' && data[name+1] == 'e' && data[name+2] == 'y':
			if data[i] != '"' {
				return i, fmt.Errorf("a key that is no string")
			}
			e.key = i + 1
			e.keyEnd = quote(data, e.key)
			i = e.keyEnd + 1
			seen |= 1
		case length == 2 && data[name] == 't' && data[name+1] == 's':
			var n int64
			for i+8 < len(data) {
				eight, ok := digits8(binary.LittleEndian.Uint64(data[i:]))
				if !ok {
					break
				}
				n, i = n*100_000_000+int64(eight), i+8
			}
			for data[i]-'0' < 10 {
				n, i = n*10+int64(data[i]-'0'), i+1
			}
			e.ts = n
			seen |= 2
		case length == 5 && data[name] == 'v' && string(data[name:name+5]) == "value":
			var n int64
			for data[i]-'0' < 10 {
				n, i = n*10+int64(data[i]-'0'), i+1
			}
			point := i
			if data[i] == '.' {
				for i++; data[i]-'0' < 10; i++ {
					n = n*10 + int64(data[i]-'0')
				}
				point = i - point - 1
			} else {
				point = 0
			}
			if point >= len(pow10) || n >= 1<<53 {
				return i, fmt.Errorf("a value with too many digits")
			}
			e.value = float64(n) / pow10[point]
			seen |= 4
		case data[i] == '"':
			i = quote(data, i+1) + 1
		default:
			for data[i] != ',' && data[i] != '}' {
				i++
			}
		}
		switch data[i] {
		case ',':
			i++
		case '}':
			if data[i+1] != '\n' {
				return i, fmt.Errorf("%q after a record", data[i+1])
			}
			if seen != 7 {
				return i, fmt.Errorf("a record without key, ts or value")
			}
			return i + 2, nil
		default:
			return i, fmt.Errorf("%q after a value", data[i])
		}
	}
}

// quote finds the next quote, eight bytes at a time.
func quote(data []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	const quotes = '"' * ones
	for {
		w := binary.LittleEndian.Uint64(data[i:]) ^ quotes
		if hit := (w - ones) &^ w & tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
		i += 8
	}
}

// digits8 reads eight digits at once; false if not all are digits.
func digits8(w uint64) (uint32, bool) {
	if (w&0xF0F0F0F0F0F0F0F0)|((w+0x0606060606060606)&0xF0F0F0F0F0F0F0F0)>>4 != 0x3333333333333333 {
		return 0, false
	}
	w -= 0x3030303030303030
	w = w*10 + w>>8
	const mask = 0x000000FF000000FF
	w = (w&mask*(100+1_000_000<<32) + w>>16&mask*(1+10_000<<32)) >> 32
	return uint32(w), true
}

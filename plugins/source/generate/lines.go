package generate

import "strconv"

// AppendJSON appends e as a line of JSON, its line feed included:
//
//	{"key":"user-00005191","ts":1699999999894,"region":"eu-west-1","type":"login","value":88.04,"seq":10000000}
func AppendJSON(dst []byte, e Event) []byte {
	dst = append(dst, `{"key":"user-`...)
	dst = appendPadded(dst, e.Key, 8)
	dst = append(dst, `","ts":`...)
	dst = strconv.AppendInt(dst, e.Time, 10)
	dst = append(dst, `,"region":"`...)
	dst = append(dst, regions[e.Region]...)
	dst = append(dst, `","type":"`...)
	dst = append(dst, types[e.Type]...)
	dst = append(dst, `","value":`...)
	dst = strconv.AppendInt(dst, int64(e.Cents/100), 10)
	dst = append(dst, '.')
	dst = appendPadded(dst, e.Cents%100, 2)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, 10_000_000+e.Number, 10)
	return append(dst, "}\n"...)
}

// AppendPair appends e as "key ts" and a line feed, 28 bytes for times of this century:
//
//	user-00005191 1699999999894
func AppendPair(dst []byte, e Event) []byte {
	dst = append(dst, "user-"...)
	dst = appendPadded(dst, e.Key, 8)
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, e.Time, 10)
	return append(dst, '\n')
}

// pages are what page views are of.
var pages = [...]string{"/", "/pricing", "/docs", "/docs/windows", "/blog", "/search", "/cart", "/checkout"}

// AppendPageView appends e as a page view, the stream of the quick start:
//
//	{"ts":1767225600112,"page":"/cart","user":"u042","dwell_ms":8804}
func AppendPageView(dst []byte, e Event) []byte {
	dst = append(dst, `{"ts":`...)
	dst = strconv.AppendInt(dst, e.Time, 10)
	dst = append(dst, `,"page":"`...)
	dst = append(dst, pages[(e.Region*len(types)+e.Type)%len(pages)]...)
	dst = append(dst, `","user":"u`...)
	dst = appendPadded(dst, e.Key, 3)
	dst = append(dst, `","dwell_ms":`...)
	dst = strconv.AppendInt(dst, int64(e.Cents), 10)
	return append(dst, "}\n"...)
}

// appendPadded appends v, which is not negative, with leading zeros to at least width digits.
func appendPadded(dst []byte, v, width int) []byte {
	var digits [20]byte
	s := strconv.AppendInt(digits[:0], int64(v), 10)
	for range width - len(s) {
		dst = append(dst, '0')
	}
	return append(dst, s...)
}

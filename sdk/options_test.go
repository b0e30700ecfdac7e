package sdk

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidemark-stream/tidemark/sdk/wire"
)

type tlsConfig struct {
	Cert string `name:"cert" required:"true" help:"the certificate"`
	Skip bool   `name:"skip"`
}

type common struct {
	Retries int `name:"retries" default:"3"`
}

type everything struct {
	Env
	common
	Address string            `name:"address" required:"true" help:"where to connect"`
	Mode    string            `name:"mode" enum:"read,write" default:"read"`
	Count   int64             `name:"count" default:"-7"`
	Rate    float64           `name:"rate" default:"0.5"`
	Follow  bool              `name:"follow" default:"true"`
	Wait    time.Duration     `name:"wait" default:"1m30s"`
	Size    Size              `name:"size" default:"64KiB"`
	Paths   []string          `name:"paths" default:"a,b"`
	Headers map[string]string `name:"headers"`
	User    Field             `name:"user" result:"string"`
	When    Expr              `name:"when" result:"bool"`
	TLS     tlsConfig         `name:"tls"`
	Other   chan int
}

func (c *everything) Validate() error {
	if c.Count > 100 {
		return errors.Join(BadOption("is more than 100", "count"), BadOption("does not go with count", "tls", "skip"))
	}
	return nil
}

func TestOptionsComeFromTheStruct(t *testing.T) {
	options, err := optionsOf[everything]()
	require.NoError(t, err)
	var lines []string
	for _, o := range options {
		lines = append(lines, o.Name+" "+string(o.Type)+" "+o.Default)
	}
	require.Equal(t, []string{"retries int 3", "address string ", "mode string read", "count int -7", "rate float 0.5", "follow bool true",
		"wait duration 1m30s", "size size 64KiB", "paths strings a,b", "headers table ", "user field ", "when expr ", "tls table "}, lines)
	require.Equal(t, []Option{{Name: "cert", Type: StringOption, Help: "the certificate", Required: true}, {Name: "skip", Type: BoolOption}}, options[12].Options)
	require.Equal(t, wire.BoolCell, options[11].Result)
}

func TestDefaultsAndValues(t *testing.T) {
	c, err := decodeOptions[everything]([]byte(`{"address":"x", "tls":{"cert":"c"}}`), Env{place: wire.Place{Component: "here"}})
	require.NoError(t, err)
	require.Equal(t, "here", c.Component())
	c.Env = Env{}
	require.Equal(t, everything{common: common{3}, Address: "x", Mode: "read", Count: -7, Rate: 0.5, Follow: true, Wait: 90 * time.Second, Size: 64 << 10,
		Paths: []string{"a", "b"}, TLS: tlsConfig{Cert: "c"}}, c)

	c, err = decodeOptions[everything]([]byte(`{"address":"y","mode":"write","count":9223372036854775807,"rate":2,"follow":false,"wait":"2d","size":7,
		"paths":"one","headers":{"A":"b"},"user":"uid","when":true,"tls":{"cert":"c","skip":true},"retries":0}`), Env{})
	require.Equal(t, OptionErrors{{Path: []string{"count"}, Reason: "invalid", Message: "is more than 100"},
		{Path: []string{"tls", "skip"}, Reason: "invalid", Message: "does not go with count"}}, err)
	require.Equal(t, int64(1<<63-1), c.Count, "whole numbers stay exact")
	require.Equal(t, []string{"one"}, c.Paths)
	require.Equal(t, map[string]string{"A": "b"}, c.Headers)
	require.Equal(t, Expr("true"), c.When)
	require.Equal(t, 48*time.Hour, c.Wait)
	require.True(t, c.TLS.Skip)
}

func TestEveryMistakeIsFoundAtOnce(t *testing.T) {
	_, err := decodeOptions[everything]([]byte(`{"adress":"x","mode":"raed","count":1.5,"rate":"fast","follow":"yes","wait":"5","size":"big",
		"paths":[1],"headers":{"A":1},"user":7,"when":[],"tls":{"skpi":true}}`), Env{})
	var errs OptionErrors
	require.ErrorAs(t, err, &errs)
	var lines []string
	for _, e := range errs {
		lines = append(lines, string(e.Reason)+" | "+OptionErrors{e}.Error()+" | "+e.Hint)
	}
	require.ElementsMatch(t, []string{
		`unknown | adress: there is no option "adress" | did you mean "address"?`,
		`type | count: count must be a whole number, not 1.5 | `,
		`type | follow: follow must be true or false, not "yes" | `,
		`type | headers: headers must be a table of strings, not a table | A is 1`,
		`value | mode: mode "raed" is not one of read, write | did you mean "read"?`,
		`type | paths: paths must be an array of strings, not an array | `,
		`type | rate: rate must be a number, not "fast" | `,
		`value | size: size "big" is not a size | write it like "64KiB" or "1MB"`,
		`unknown | tls.skpi: there is no option "skpi" | did you mean "skip"?`,
		`missing | tls.cert: the option "cert" is missing | the certificate`,
		`type | user: user must be a string, not 7 | `,
		`value | wait: wait "5" has no unit | write it like "5s", "200ms" or "1m30s"`,
		`type | when: when must be a string, not an array | `,
		`missing | address: the option "address" is missing | where to connect`,
	}, lines)
}

func TestAnAuthorsMistakesShowAtOnce(t *testing.T) {
	type hiddenOption struct {
		//lint:ignore U1000 it is the mistake
		x int `name:"x"`
	}
	type twice struct {
		A int `name:"a"`
		B int `name:"a"`
	}
	type odd struct {
		C chan int `name:"c"`
	}
	type badDefault struct {
		D time.Duration `name:"d" default:"5"`
	}
	for says, make := range map[string]func() ([]Option, error){
		`option "x": the struct field is not exported`: optionsOf[hiddenOption],
		`option "a" is there twice`:                    optionsOf[twice],
		`option "c": type chan int is not supported`:   optionsOf[odd],
		`option "d": default: d "5" has no unit`:       optionsOf[badDefault],
		`the config int must be a struct`:              optionsOf[int],
	} {
		_, err := make()
		require.ErrorContains(t, err, says)
	}
	require.PanicsWithValue(t, `sdk: source plugin "Bad Name": a name is lower-case letters and digits, words joined by "_"`, func() {
		describe[struct{}](KindSource, "Bad Name", "")
	})
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "5s": 5 * time.Second, "1.5h": 90 * time.Minute, "1m30s": 90 * time.Second, "2w": 14 * 24 * time.Hour,
		"-3ms": -3 * time.Millisecond, "10us": 10 * time.Microsecond, "10µs": 10 * time.Microsecond, "7ns": 7} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, says := range map[string]string{"": "is not a duration", "5": "has no unit", "s": "is not a duration", "5x": `"x" is not a unit`, "1000000d": "longer than 292 years",
		"1..5s": "is not a duration", "5s ": "is not a duration", "five": "is not a duration"} {
		_, err := ParseDuration(text)
		require.ErrorContains(t, err, says, text)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "65536": 65536, "64KiB": 64 << 10, "64kb": 64_000, "1.5 MiB": 3 << 19, "2g": 2 << 30} {
		got, err := ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "big", "5 apples", "-1", "99999999999999TB"} {
		_, err := ParseSize(text)
		require.Error(t, err, text)
	}
}

func FuzzUnits(f *testing.F) {
	f.Add("1m30s")
	f.Add("64KiB")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = ParseDuration(text)
		if n, err := ParseSize(text); err == nil && n < 0 {
			t.Fatalf("%q is %d", text, n)
		}
	})
}

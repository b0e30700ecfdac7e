package main

import (
	"reflect"
	"testing"

	"github.com/tidemark-stream/tidemark/sdk/sdktest"
)

func TestTheMeanIsWeightedByVolume(t *testing.T) {
	rows := sdktest.Fire(t, vwap(), nil, sdktest.Window{End: 1000, Records: []any{Trade{10, 1}, Trade{20, 3}}}, sdktest.Window{Start: 1000, End: 2000})
	if rows[0]["result"] != 17.5 || rows[1]["result"] != nil {
		t.Errorf("got %v", rows)
	}
}

func TestARunEndsWithTheFirstStepBack(t *testing.T) {
	rows := sdktest.Fire(t, runs(), sdktest.Options{"at_least": 2}, sdktest.Window{Start: 5000, End: 9000,
		Records: []any{Price{1}, Price{2}, Price{4}, Price{3}, Price{3}, Price{5}}, Times: []int64{5000, 5100, 5200, 5300, 5400, 5500}})
	want := []map[string]any{{"from": int64(0), "trades": int64(3), "change": 3.0}, {"from": int64(400), "trades": int64(2), "change": 2.0}}
	if !reflect.DeepEqual(want, rows) {
		t.Errorf("got %v", rows)
	}
}

func TestConformance(t *testing.T) {
	sdktest.Conforms(t, vwap(), sdktest.Settings{Record: func(i int) any { return Trade{float64(i % 7), float64(i % 3)} }})
	sdktest.Conforms(t, runs(), sdktest.Settings{})
}

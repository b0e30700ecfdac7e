package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/tidemark-stream/tidemark/sdk/wire"
)

// Validator is implemented by config structs that have rules of their own. It is called after decoding, by `tidemark check` too, so it
// looks only at the values. Errors made by [BadOption] (several through errors.Join) are shown at the option's line.
type Validator interface{ Validate() error }

// BadOption says what is wrong with the option at that path ("interval", or "tls", "cert" for a key of a table).
func BadOption(message string, path ...string) error {
	return OptionErrors{{Path: path, Reason: wire.InvalidOptions, Message: message}}
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
	exprType     = reflect.TypeFor[Expr]()
	fieldType    = reflect.TypeFor[Field]()
	stringsType  = reflect.TypeFor[[]string]()
	tableType    = reflect.TypeFor[map[string]string]()
	envType      = reflect.TypeFor[Env]()
)

// optionsOf reads the options from the struct tags of C.
func optionsOf[C any]() ([]Option, error) {
	t := reflect.TypeFor[C]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the config %s must be a struct", t)
	}
	return structOptions(t)
}

func structOptions(t reflect.Type) ([]Option, error) {
	var out []Option
	seen := map[string]bool{}
	for f := range t.Fields() {
		if f.Type == envType {
			continue
		}
		name := f.Tag.Get("name")
		if name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct {
			inner, err := structOptions(f.Type)
			if err != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		if name == "" {
			continue
		}
		o, err := fieldOption(f, name)
		if err != nil {
			return nil, fmt.Errorf("option %q: %w", name, err)
		}
		out = append(out, o)
	}
	for _, o := range out {
		if seen[o.Name] {
			return nil, fmt.Errorf("option %q is there twice", o.Name)
		}
		seen[o.Name] = true
	}
	return out, nil
}

func fieldOption(f reflect.StructField, name string) (Option, error) {
	o := Option{Name: name, Help: f.Tag.Get("help"), Default: f.Tag.Get("default"), Required: f.Tag.Get("required") == "true"}
	if !f.IsExported() {
		return o, errors.New("the struct field is not exported")
	}
	if e := f.Tag.Get("enum"); e != "" {
		o.Enum = strings.Split(e, ",")
	}
	switch {
	case f.Type == durationType:
		o.Type = DurationOption
	case f.Type == sizeType:
		o.Type = SizeOption
	case f.Type == exprType, f.Type == fieldType:
		o.Type = ExprOption
		if f.Type == fieldType {
			o.Type = FieldOption
		}
		if o.Result = CellType(f.Tag.Get("result")); o.Result == "" {
			o.Result = wire.AnyCell
		}
	case f.Type == stringsType:
		o.Type = StringsOption
	case f.Type == tableType:
		o.Type = TableOption
	case f.Type.Kind() == reflect.String:
		o.Type = StringOption
	case f.Type.Kind() == reflect.Bool:
		o.Type = BoolOption
	case f.Type.Kind() == reflect.Int, f.Type.Kind() == reflect.Int64:
		o.Type = IntOption
	case f.Type.Kind() == reflect.Float64:
		o.Type = FloatOption
	case f.Type.Kind() == reflect.Struct:
		inner, err := structOptions(f.Type)
		o.Type, o.Options = TableOption, inner
		return o, err
	default:
		return o, fmt.Errorf("type %s is not supported; use string, int, float64, bool, time.Duration, sdk.Size, []string, "+
			"map[string]string, sdk.Field, sdk.Expr or a struct", f.Type)
	}
	if o.Default != "" {
		if _, err := readOption(o, defaultValue(o)); err != nil {
			return o, fmt.Errorf("default: %s", err.Message)
		}
	}
	return o, nil
}

// decodeOptions fills a config from a JSON object, sets the defaults and the Env, and runs Validate. The error is OptionErrors.
func decodeOptions[C any](options []byte, env Env) (C, error) {
	var config C
	raw := map[string]any{}
	if len(options) > 0 {
		d := json.NewDecoder(bytes.NewReader(options))
		d.UseNumber()
		if err := d.Decode(&raw); err != nil {
			return config, OptionErrors{{Reason: wire.InvalidOptions, Message: "the options are not a JSON object: " + err.Error()}}
		}
	}
	v := reflect.ValueOf(&config).Elem()
	described, err := structOptions(v.Type())
	if err != nil {
		return config, OptionErrors{{Reason: wire.InvalidOptions, Message: err.Error()}}
	}
	errs := CheckOptions(described, raw)
	if len(errs) > 0 {
		return config, errs
	}
	fill(v, raw, env)
	if c, ok := any(&config).(Validator); ok {
		err = c.Validate()
	}
	if err != nil {
		return config, asOptionErrors(err)
	}
	return config, nil
}

func asOptionErrors(err error) OptionErrors {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out OptionErrors
		for _, e := range many.Unwrap() {
			out = append(out, asOptionErrors(e)...)
		}
		return out
	}
	var known OptionErrors
	if errors.As(err, &known) {
		return known
	}
	return OptionErrors{{Reason: wire.InvalidOptions, Message: err.Error()}}
}

// fill writes checked options into a config.
func fill(v reflect.Value, raw map[string]any, env Env) {
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		name := f.Tag.Get("name")
		switch {
		case f.Type == envType:
			if f.IsExported() {
				field.Set(reflect.ValueOf(env))
			}
			continue
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			fill(field, raw, env)
			continue
		case name == "":
			continue
		}
		o, _ := fieldOption(f, name)
		value, there := raw[name]
		if o.Type == TableOption && len(o.Options) > 0 {
			table, _ := value.(map[string]any)
			fill(field, table, env)
			continue
		}
		if !there || value == nil {
			if o.Default == "" {
				continue
			}
			value = defaultValue(o)
		}
		if x, err := readOption(o, value); err == nil {
			field.Set(reflect.ValueOf(x).Convert(f.Type))
		}
	}
}

// CheckOptions compares options, as TOML or JSON decoders give them, with their description. It returns all mistakes; for those of
// value and type the message says what was written.
func CheckOptions(described []Option, options map[string]any) OptionErrors {
	var errs OptionErrors
	known := make([]string, len(described))
	for i, o := range described {
		known[i] = o.Name
	}
	for _, name := range sortedKeys(options) {
		i := indexOf(known, name)
		if i < 0 {
			e := OptionError{Path: []string{name}, Reason: wire.UnknownOption, Message: fmt.Sprintf("there is no option %q", name)}
			if near := nearest(name, known); near != "" {
				e.Hint = fmt.Sprintf("did you mean %q?", near)
			} else if len(known) > 0 {
				e.Hint = "the options are " + strings.Join(known, ", ")
			}
			errs = append(errs, e)
			continue
		}
		o := described[i]
		if o.Type == TableOption && len(o.Options) > 0 {
			table, ok := options[name].(map[string]any)
			if !ok {
				errs = append(errs, OptionError{Path: []string{name}, Reason: wire.WrongType, Message: fmt.Sprintf("%s must be a table", name)})
				continue
			}
			for _, e := range CheckOptions(o.Options, table) {
				e.Path = append([]string{name}, e.Path...)
				errs = append(errs, e)
			}
			continue
		}
		if _, e := readOption(o, options[name]); e != nil {
			e.Path = []string{name}
			errs = append(errs, *e)
		}
	}
	for _, o := range described {
		if _, there := options[o.Name]; there {
			continue
		}
		if o.Required {
			errs = append(errs, OptionError{Path: []string{o.Name}, Reason: wire.MissingOption,
				Message: fmt.Sprintf("the option %q is missing", o.Name), Hint: o.Help})
		}
	}
	return errs
}

// readOption turns a written value into the Go value of its type: string, int64, float64, bool, time.Duration, Size, []string,
// map[string]string.
func readOption(o Option, raw any) (any, *OptionError) {
	wrong := func(want, hint string) (any, *OptionError) {
		return nil, &OptionError{Reason: wire.WrongType, Message: fmt.Sprintf("%s must be %s, not %s", o.Name, want, written(raw)), Hint: hint}
	}
	bad := func(err error, hint string) (any, *OptionError) {
		return nil, &OptionError{Reason: wire.WrongValue, Message: fmt.Sprintf("%s %v", o.Name, err), Hint: hint}
	}
	text, isText := raw.(string)
	switch o.Type {
	case StringOption, FieldOption, ExprOption:
		if o.Type == ExprOption && !isText { // when = true
			switch x := raw.(type) {
			case bool, json.Number, int64, float64:
				return fmt.Sprint(x), nil
			}
		}
		if !isText {
			return wrong("a string", "")
		}
		if len(o.Enum) > 0 && indexOf(o.Enum, text) < 0 {
			hint := "write " + strings.Join(o.Enum, ", ")
			if near := nearest(text, o.Enum); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			return bad(fmt.Errorf("%q is not one of %s", text, strings.Join(o.Enum, ", ")), hint)
		}
		return text, nil
	case IntOption:
		switch x := raw.(type) {
		case int64:
			return x, nil
		case int:
			return int64(x), nil
		case json.Number:
			if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
				return n, nil
			}
		case float64:
			if x == float64(int64(x)) {
				return int64(x), nil
			}
		}
		return wrong("a whole number", "")
	case FloatOption:
		switch x := raw.(type) {
		case int64:
			return float64(x), nil
		case int:
			return float64(x), nil
		case float64:
			return x, nil
		case json.Number:
			if n, err := x.Float64(); err == nil {
				return n, nil
			}
		}
		return wrong("a number", "")
	case BoolOption:
		if b, ok := raw.(bool); ok {
			return b, nil
		}
		return wrong("true or false", "")
	case DurationOption:
		if !isText {
			if fmt.Sprint(raw) == "0" {
				return time.Duration(0), nil
			}
			return wrong("a duration with its unit", fmt.Sprintf(`write "%vs" or "%vms"`, raw, raw))
		}
		d, err := ParseDuration(text)
		if err != nil {
			return bad(err, `write it like "5s", "200ms" or "1m30s"`)
		}
		return d, nil
	case SizeOption:
		if isText {
			n, err := ParseSize(text)
			if err != nil {
				return bad(err, `write it like "64KiB" or "1MB"`)
			}
			return n, nil
		}
		n, e := readOption(Option{Name: o.Name, Type: IntOption}, raw)
		if e != nil || n.(int64) < 0 {
			return wrong("a size", `write it like "64KiB" or "1MB"`)
		}
		return Size(n.(int64)), nil
	case StringsOption:
		if isText {
			return []string{text}, nil
		}
		list, ok := raw.([]any)
		if !ok {
			return wrong("an array of strings", "")
		}
		out := make([]string, len(list))
		for i, x := range list {
			if out[i], ok = x.(string); !ok {
				return wrong("an array of strings", "")
			}
		}
		return out, nil
	case TableOption:
		table, ok := raw.(map[string]any)
		if !ok {
			return wrong("a table", "")
		}
		out := make(map[string]string, len(table))
		for k, x := range table {
			if out[k], ok = x.(string); !ok {
				return wrong("a table of strings", fmt.Sprintf("%s is %s", k, written(x)))
			}
		}
		return out, nil
	}
	return wrong("a value of the type "+string(o.Type), "")
}

// defaultValue is the default as a decoder would give it.
func defaultValue(o Option) any {
	switch o.Type {
	case IntOption, FloatOption:
		return json.Number(o.Default)
	case BoolOption:
		if b, err := strconv.ParseBool(o.Default); err == nil {
			return b
		}
	case StringsOption:
		var list []any
		for _, s := range strings.Split(o.Default, ",") {
			list = append(list, s)
		}
		return list
	}
	return o.Default
}

// written names a value as one wrote it.
func written(raw any) string {
	switch x := raw.(type) {
	case string:
		return strconv.Quote(x)
	case map[string]any:
		return "a table"
	case []any:
		return "an array"
	case nil:
		return "nothing"
	default:
		return fmt.Sprint(x)
	}
}

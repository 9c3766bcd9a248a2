package chat

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeField is one conversion of strftime: either a number with its usual
// width and padding, or text.
type timeField struct {
	num   func(t time.Time) int
	width int
	pad   byte
	text  func(t time.Time) string
}

func layout(l string) timeField {
	return timeField{text: func(t time.Time) string { return t.Format(l) }}
}

// timeFields is what follows "%", in the C locale, for a time without a zone,
// which is what datetime.now() gives in Python.
var timeFields = map[byte]timeField{
	'Y': {num: time.Time.Year, width: 4, pad: '0'},
	'm': {num: func(t time.Time) int { return int(t.Month()) }, width: 2, pad: '0'},
	'd': {num: time.Time.Day, width: 2, pad: '0'},
	'e': {num: time.Time.Day, width: 2, pad: ' '},
	'H': {num: time.Time.Hour, width: 2, pad: '0'},
	'k': {num: time.Time.Hour, width: 2, pad: ' '},
	'I': {num: hour12, width: 2, pad: '0'},
	'l': {num: hour12, width: 2, pad: ' '},
	'M': {num: time.Time.Minute, width: 2, pad: '0'},
	'S': {num: time.Time.Second, width: 2, pad: '0'},
	'f': {num: func(t time.Time) int { return t.Nanosecond() / 1000 }, width: 6, pad: '0'},
	'j': {num: time.Time.YearDay, width: 3, pad: '0'},
	'y': {num: func(t time.Time) int { return t.Year() % 100 }, width: 2, pad: '0'},
	'C': {num: func(t time.Time) int { return t.Year() / 100 }, width: 2, pad: '0'},
	'w': {num: func(t time.Time) int { return int(t.Weekday()) }, width: 1, pad: '0'},
	'u': {num: func(t time.Time) int { return (int(t.Weekday())+6)%7 + 1 }, width: 1, pad: '0'},
	'U': {num: func(t time.Time) int { return (t.YearDay() + 6 - int(t.Weekday())) / 7 }, width: 2, pad: '0'},
	'W': {num: func(t time.Time) int { return (t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7 }, width: 2, pad: '0'},
	'V': {num: func(t time.Time) int { _, w := t.ISOWeek(); return w }, width: 2, pad: '0'},
	'G': {num: func(t time.Time) int { y, _ := t.ISOWeek(); return y }, width: 4, pad: '0'},
	'g': {num: func(t time.Time) int { y, _ := t.ISOWeek(); return y % 100 }, width: 2, pad: '0'},
	'a': layout("Mon"),
	'A': layout("Monday"),
	'b': layout("Jan"),
	'h': layout("Jan"),
	'B': layout("January"),
	'p': layout("PM"),
	'P': layout("pm"),
	'c': layout("Mon Jan _2 15:04:05 2006"),
	'x': layout("01/02/06"),
	'D': layout("01/02/06"),
	'X': layout("15:04:05"),
	'T': layout("15:04:05"),
	'F': layout("2006-01-02"),
	'R': layout("15:04"),
	'r': layout("03:04:05 PM"),
	's': {text: func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }},
	'z': {text: func(time.Time) string { return "" }},
	'Z': {text: func(time.Time) string { return "" }},
	'n': {text: func(time.Time) string { return "\n" }},
	't': {text: func(time.Time) string { return "\t" }},
	'%': {text: func(time.Time) string { return "%" }},
}

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

// strftime formats t as C's function does on Linux: with its flags ("-" no
// padding, "_" spaces, "0" zeros, "^" upper case); what it does not know stays.
func strftime(r *run, t time.Time, format string) (string, error) {
	if err := r.built(8 * len(format)); err != nil {
		return "", err
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		start := i
		pad, upper := byte(0), false
		for i++; i < len(format) && strings.IndexByte("-_0^#", format[i]) >= 0; i++ {
			if format[i] == '^' || format[i] == '#' {
				upper = true
			} else {
				pad = format[i]
			}
		}
		if i == len(format) {
			b.WriteString(format[start:])
			break
		}
		f, ok := timeFields[format[i]]
		switch {
		case !ok:
			b.WriteString(format[start : i+1])
		case f.text != nil && upper:
			b.WriteString(strings.ToUpper(f.text(t)))
		case f.text != nil:
			b.WriteString(f.text(t))
		default:
			b.WriteString(f.format(t, pad))
		}
	}
	return b.String(), nil
}

func (f timeField) format(t time.Time, pad byte) string {
	if pad == 0 {
		pad = f.pad
	}
	switch pad {
	case '-':
		return strconv.Itoa(f.num(t))
	case '_', ' ':
		return fmt.Sprintf("%*d", f.width, f.num(t))
	}
	return fmt.Sprintf("%0*d", f.width, f.num(t))
}

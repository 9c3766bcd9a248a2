package chat

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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

// strftime formats t as C's function does on Linux: with its flags ("-" no padding,
// "_" spaces, "0" zeros, "^" upper case, "#" the other case), a width, and the
// modifiers E and O, which change nothing in the C locale. What it does not know
// stays as it is, padded all the same.
func strftime(r *run, t time.Time, format string) (string, error) {
	if err := r.built(8 * len(format)); err != nil {
		return "", err
	}
	format = pythonFields(t, format)
	var b strings.Builder
	for i := 0; i < len(format); {
		if format[i] != '%' {
			b.WriteByte(format[i])
			i++
			continue
		}
		c, n := conversionAt(format[i:])
		if c.width > maxSpecNumber {
			return "", &LimitError{"characters of width in a format", maxSpecNumber}
		}
		if err := r.charge(10); err != nil {
			return "", err
		}
		if err := r.built(c.width); err != nil {
			return "", err
		}
		b.WriteString(c.format(t, format[i:i+n]))
		i += n
	}
	return b.String(), nil
}

// pythonFields puts in the conversions that Python does itself, before C sees the
// format: those without flags, as a time without a zone has them.
func pythonFields(t time.Time, format string) string {
	own := map[byte]string{'f': fmt.Sprintf("%06d", t.Nanosecond()/1000), 'z': "", 'Z': ""}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if s, ok := own[format[i]]; ok {
			b.WriteString(s)
		} else {
			b.WriteString(format[i-1 : i+1])
		}
	}
	return b.String()
}

// timeConversion is one conversion as it is written.
type timeConversion struct {
	pad      byte // flag: '-', '_', '0', or 0
	upper    bool
	swap     bool
	width    int // 0: none
	modifier byte
	verb     byte // 0: the format ends before it
}

// conversionAt reads the conversion that s begins with, and its length.
func conversionAt(s string) (c timeConversion, n int) {
	n = 1
	for ; n < len(s) && strings.IndexByte("-_0^#", s[n]) >= 0; n++ {
		switch s[n] {
		case '^':
			c.upper = true
		case '#':
			c.swap = true
		default:
			c.pad = s[n]
		}
	}
	for ; n < len(s) && isDec(s[n]); n++ {
		c.width = min(c.width*10+int(s[n]-'0'), maxSpecNumber+1)
	}
	if n < len(s) && (s[n] == 'E' || s[n] == 'O') {
		c.modifier = s[n]
		n++
	}
	if n < len(s) {
		_, size := utf8.DecodeRuneInString(s[n:])
		c.verb = s[n]
		n += size
	}
	return c, n
}

// modified are the verbs that each modifier may stand before, in C's library.
var modified = map[byte]string{'E': "cnprstuxyzCPRTXYZ%", 'O': "bdeghjklmnprstuwyzBCGHIMPRSTUVWZ%"}

func (c timeConversion) format(t time.Time, written string) string {
	f, ok := timeFields[c.verb]
	switch {
	case !ok, c.modifier != 0 && strings.IndexByte(modified[c.modifier], c.verb) < 0:
		if c.upper {
			written = strings.ToUpper(written)
		}
		return c.padText(written)
	case c.verb == 'z':
		return "" // whatever its width
	case f.num != nil:
		return c.number(f, f.num(t))
	}
	s := f.text(t)
	switch {
	case c.swap && c.verb == 'p':
		s = strings.ToLower(s)
	case c.upper && c.verb != 'P', c.swap && strings.IndexByte("aAbBh", c.verb) >= 0:
		s = strings.ToUpper(s)
	}
	return c.padText(s)
}

// padText fills text up to the width: with zeros only where they are asked for.
func (c timeConversion) padText(s string) string {
	fill := " "
	if c.pad == '0' {
		fill = "0"
	}
	return strings.Repeat(fill, max(0, c.width-runeCount(s))) + s
}

// number writes n with the field's own width and padding, where none is written.
func (c timeConversion) number(f timeField, n int) string {
	s := strconv.Itoa(n)
	width, fill := max(c.width, f.width), string(f.pad)
	switch c.pad {
	case '-':
		width, fill = c.width, " "
	case '_':
		fill = " "
	case '0':
		fill = "0"
	}
	return strings.Repeat(fill, max(0, width-len(s))) + s
}

// Package repo holds no code: its tests are the rules that the whole repository
// keeps, import directions above all.
package repo

package prog

// checker collects the first fault of a program.
type checker struct{ err error }

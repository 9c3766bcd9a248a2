package driver

import (
	"runtime"
	"strings"
	"unsafe"
)

// logBytes is the room for what the JIT compiler says of a module, once for its
// remarks and once for its errors.
const logBytes = 16 << 10

// LoadModule compiles PTX for the current context's device. The compiler's errors are
// in the error; its remarks, if there are any, are the log.
func (d *Driver) LoadModule(ptx []byte) (m Module, log string, err error) {
	image := append(append(make([]byte, 0, len(ptx)+1), ptx...), 0)
	info, fault := make([]byte, logBytes), make([]byte, logBytes)
	options := []JITOption{JITInfoLog, JITInfoLogBytes, JITErrorLog, JITErrorLogBytes}
	// The logs' addresses are words in an array of words, which keeps nothing alive.
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&info[0])
	pinner.Pin(&fault[0])
	values := []uintptr{uintptr(unsafe.Pointer(&info[0])), logBytes, uintptr(unsafe.Pointer(&fault[0])), logBytes}
	code := d.table.ModuleLoadDataEx(&m, &image[0], uint32(len(options)), &options[0], &values[0])
	if err = d.err("cuModuleLoadDataEx", code); err != nil {
		err.(*Error).Log = logText(fault)
	}
	return m, logText(info), err
}

// logText is a log without the zeros behind it.
func logText(log []byte) string {
	s := string(log)
	if end := strings.IndexByte(s, 0); end >= 0 {
		s = s[:end]
	}
	return strings.TrimSpace(s)
}

// UnloadModule gives a module back.
func (d *Driver) UnloadModule(m Module) error {
	return d.err("cuModuleUnload", d.table.ModuleUnload(m))
}

// Function finds a module's entry point.
func (d *Driver) Function(m Module, name string) (Function, error) {
	var f Function
	c := append([]byte(name), 0)
	err := d.err("cuModuleGetFunction", d.table.ModuleGetFunction(&f, m, &c[0]))
	return f, err
}

// FuncAttribute asks for an attribute of a function.
func (d *Driver) FuncAttribute(f Function, a FuncAttribute) (int, error) {
	var v int32
	err := d.err("cuFuncGetAttribute", d.table.FuncGetAttribute(&v, a, f))
	return int(v), err
}

// SetFuncAttribute sets an attribute of a function.
func (d *Driver) SetFuncAttribute(f Function, a FuncAttribute, value int) error {
	return d.err("cuFuncSetAttribute", d.table.FuncSetAttribute(f, a, int32(value)))
}

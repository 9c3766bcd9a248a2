package driver

import "unsafe"

// Alloc reserves device memory, which holds anything. IsOutOfMemory tells where there
// is too little.
func (d *Driver) Alloc(bytes int64) (DevicePtr, error) {
	var at DevicePtr
	err := d.err("cuMemAlloc_v2", d.table.MemAlloc(&at, uint64(bytes)))
	return at, err
}

// Free gives device memory back.
func (d *Driver) Free(at DevicePtr) error {
	return d.err("cuMemFree_v2", d.table.MemFree(at))
}

// MemInfo is the memory of the current context's device in bytes: what is free now,
// and all.
func (d *Driver) MemInfo() (free, total uint64, err error) {
	err = d.err("cuMemGetInfo_v2", d.table.MemGetInfo(&free, &total))
	return free, total, err
}

// AllocHost reserves memory of the host that never moves and is never paged out, so
// that copies can be asynchronous. Go's collector does not know it: FreeHost gives it
// back.
func (d *Driver) AllocHost(bytes int64) ([]byte, error) {
	var at unsafe.Pointer
	if err := d.err("cuMemHostAlloc", d.table.MemHostAlloc(&at, uint64(bytes), 0)); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(at), bytes), nil
}

// FreeHost gives back what AllocHost returned.
func (d *Driver) FreeHost(memory []byte) error {
	return d.err("cuMemFreeHost", d.table.MemFreeHost(unsafe.Pointer(unsafe.SliceData(memory))))
}

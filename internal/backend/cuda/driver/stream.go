package driver

// NewStream makes a stream of the current context, in no implicit order with others.
func (d *Driver) NewStream() (Stream, error) {
	var s Stream
	err := d.err("cuStreamCreate", d.table.StreamCreate(&s, StreamNonBlocking))
	return s, err
}

// CloseStream gives a stream back. What it still has to do is done first, by the
// device: the call does not wait.
func (d *Driver) CloseStream(s Stream) error {
	return d.err("cuStreamDestroy_v2", d.table.StreamDestroy(s))
}

// NewEvent makes an event; flags are those of cuEventCreate.
func (d *Driver) NewEvent(flags uint32) (Event, error) {
	var e Event
	err := d.err("cuEventCreate", d.table.EventCreate(&e, flags))
	return e, err
}

// CloseEvent gives an event back.
func (d *Driver) CloseEvent(e Event) error {
	return d.err("cuEventDestroy_v2", d.table.EventDestroy(e))
}

// Elapsed is the time between two recorded events in milliseconds.
func (d *Driver) Elapsed(from, to Event) (float32, error) {
	var ms float32
	err := d.err("cuEventElapsedTime", d.table.EventElapsedTime(&ms, from, to))
	return ms, err
}

// BeginCapture makes what follows on a stream the nodes of a graph, and runs none of
// it. Other threads go on as before.
func (d *Driver) BeginCapture(s Stream) error {
	return d.err("cuStreamBeginCapture_v2", d.table.StreamBeginCapture(s, CaptureThreadLocal))
}

// EndCapture ends what BeginCapture began, also where something in between failed.
func (d *Driver) EndCapture(s Stream) (Graph, error) {
	var g Graph
	err := d.err("cuStreamEndCapture", d.table.StreamEndCapture(s, &g))
	return g, err
}

// Instantiate makes a graph ready to be launched. The graph itself may be closed then.
func (d *Driver) Instantiate(g Graph) (GraphExec, error) {
	var x GraphExec
	err := d.err("cuGraphInstantiateWithFlags", d.table.GraphInstantiate(&x, g, 0))
	return x, err
}

// CloseGraph gives a graph back.
func (d *Driver) CloseGraph(g Graph) error {
	return d.err("cuGraphDestroy", d.table.GraphDestroy(g))
}

// CloseExec gives a graph that was ready to be launched back.
func (d *Driver) CloseExec(x GraphExec) error {
	return d.err("cuGraphExecDestroy", d.table.GraphExecDestroy(x))
}

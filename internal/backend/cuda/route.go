package cuda

import "github.com/paddock-go/paddock/internal/prog"

// The block of route, and the rows that one does, each by a warp.
const (
	routeThreads = 128
	routeRows    = routeThreads / 32
)

// route is prog.Route.
type route struct {
	*rig
	prog.Route
}

func compileRoute(r *rig, o prog.Route) (op, error) { return &route{r, o}, nil }

func (o *route) launches(b bucket) []launch {
	var a args
	a.at(o.step)
	a.at(o.buf(o.In))
	a.at(o.buf(o.Ids))
	a.at(o.buf(o.Weights))
	a.at(o.vector(o.Bias))
	a.i32(o.width(o.In))
	a.i32(o.width(o.Ids))
	a.i32(int(o.Score))
	a.i32(o.Groups)
	a.i32(o.GroupsUsed)
	a.i32(flag(o.Norm))
	a.f32(o.Scale)
	a.i32(o.ofLogits(o.In))
	return []launch{{kernel: "route", grid: dims{ceilDiv(o.rows(o.In, b), routeRows), 1, 1}, block: dims{routeThreads, 1, 1}, args: a}}
}

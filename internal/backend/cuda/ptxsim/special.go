package ptxsim

// special is a special register.
type special uint8

const (
	tidX special = iota + 1
	tidY
	tidZ
	ntidX
	ntidY
	ntidZ
	ctaidX
	ctaidY
	ctaidZ
	nctaidX
	nctaidY
	nctaidZ
	laneID
	warpID
	nwarpID
	laneEq
	laneLt
	laneLe
	laneGt
	laneGe
	warpSize
)

var specials = map[string]special{
	"%tid.x": tidX, "%tid.y": tidY, "%tid.z": tidZ,
	"%ntid.x": ntidX, "%ntid.y": ntidY, "%ntid.z": ntidZ,
	"%ctaid.x": ctaidX, "%ctaid.y": ctaidY, "%ctaid.z": ctaidZ,
	"%nctaid.x": nctaidX, "%nctaid.y": nctaidY, "%nctaid.z": nctaidZ,
	"%laneid": laneID, "%warpid": warpID, "%nwarpid": nwarpID, "WARP_SZ": warpSize,
	"%lanemask_eq": laneEq, "%lanemask_lt": laneLt, "%lanemask_le": laneLe, "%lanemask_gt": laneGt, "%lanemask_ge": laneGe,
}

// value is the register of one lane.
func (s special) value(w *warp, lane int) uint64 {
	b := w.b
	tid := w.thread(lane)
	one := uint64(1) << lane
	switch s {
	case tidX, tidY, tidZ:
		return uint64(tid[s-tidX])
	case ntidX, ntidY, ntidZ:
		return uint64(b.dim[s-ntidX])
	case ctaidX, ctaidY, ctaidZ:
		return uint64(b.id[s-ctaidX])
	case nctaidX, nctaidY, nctaidZ:
		return uint64(b.grid[s-nctaidX])
	case laneID:
		return uint64(lane)
	case warpID:
		return uint64(w.index)
	case nwarpID:
		return uint64(len(b.warps))
	case laneEq:
		return one
	case laneLt:
		return one - 1
	case laneLe:
		return one<<1 - 1
	case laneGt:
		return 0xffffffff &^ (one<<1 - 1)
	case laneGe:
		return 0xffffffff &^ (one - 1)
	case warpSize:
		return 32
	}
	return 0
}

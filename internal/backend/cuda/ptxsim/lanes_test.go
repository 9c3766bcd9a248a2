package ptxsim

import (
	"math/bits"
	"testing"
)

// TestLanes: instructions that look at other lanes, threads or places, by what thread
// t must store. Input word i is i; %a and %b are a thread's words of input and output.
func TestLanes(t *testing.T) {
	put := "\nst.global.u32 [%b], %r1;"
	for _, c := range []struct {
		name, decl, body string
		threads          uint32
		want             func(t uint32) uint32
	}{
		{"shfl up", "", "shfl.sync.up.b32 %r1|%p1, %t, 3, 0, -1; @!%p1 add.u32 %r1, %r1, 1000;", 64, func(t uint32) uint32 {
			if t%32 < 3 {
				return t + 1000
			}
			return t - 3
		}},
		{"shfl down", "", "shfl.sync.down.b32 %r1|%p1, %t, 3, 31, -1; @!%p1 add.u32 %r1, %r1, 1000;", 64, func(t uint32) uint32 {
			if t%32 > 28 {
				return t + 1000
			}
			return t + 3
		}},
		{"shfl down in eights", "", "shfl.sync.down.b32 %r1, %t, 3, 0x181f, -1;", 32, func(t uint32) uint32 {
			if t%8 > 4 {
				return t
			}
			return t + 3
		}},
		{"shfl bfly", "", "shfl.sync.bfly.b32 %r1, %t, 21, 31, -1;", 32, func(t uint32) uint32 { return t ^ 21 }},
		{"shfl idx", "", "xor.b32 %r2, %t, 1; shfl.sync.idx.b32 %r1, %t, %r2, 31, -1;", 32, func(t uint32) uint32 { return t ^ 1 }},
		{"shfl idx in eights", "", "shfl.sync.idx.b32 %r1, %t, 5, 0x181f, -1;", 32, func(t uint32) uint32 { return t&^7 | 5 }},
		{"shfl of two halves apart", "", "setp.lt.u32 %p1, %t, 16; selp.b32 %r2, 0xffff, 0xffff0000, %p1; shfl.sync.bfly.b32 %r1, %t, 7, 31, %r2;", 32, func(t uint32) uint32 { return t ^ 7 }},
		{"vote any", "", "setp.eq.u32 %p1, %t, 40; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;", 64, func(t uint32) uint32 { return t / 32 }},
		{"vote all", "", "setp.lt.u32 %p1, %t, 40; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;", 64, func(t uint32) uint32 { return 1 - t/32 }},
		{"vote uni", "", "setp.lt.u32 %p1, %t, 40; vote.sync.uni.pred %p2, !%p1, -1; selp.u32 %r1, 1, 0, %p2;", 64, func(t uint32) uint32 { return 1 - t/32 }},
		{"ballot", "", "and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 1; vote.sync.ballot.b32 %r1, %p1, -1;", 32, func(uint32) uint32 { return 0xaaaaaaaa }},
		{"match any", "", "and.b32 %r2, %t, 3; match.any.sync.b32 %r1, %r2, -1;", 32, func(t uint32) uint32 { return 0x11111111 << (t & 3) }},
		{"match all", "", "shr.u32 %r2, %t, 5; match.all.sync.b32 %r1|%p1, %r2, -1; @!%p1 mov.u32 %r1, 7;", 32, func(uint32) uint32 { return allLanes }},
		{"match all, not", "", "match.all.sync.b32 %r1|%p1, %t, -1; @!%p1 add.u32 %r1, %r1, 7;", 32, func(uint32) uint32 { return 7 }},
		{"redux add", "", "redux.sync.add.s32 %r1, %t, -1;", 32, func(uint32) uint32 { return 496 }},
		{"redux max", "", "sub.s32 %r2, 5, %t; redux.sync.max.s32 %r1, %r2, -1;", 32, func(uint32) uint32 { return 5 }},
		{"redux or", "", "shl.b32 %r2, 1, %t; redux.sync.or.b32 %r1, %r2, -1;", 32, func(uint32) uint32 { return allLanes }},
		{"lane masks", "", "mov.u32 %r1, %lanemask_lt; popc.b32 %r1, %r1; mov.u32 %r2, %lanemask_ge; popc.b32 %r2, %r2; mov.u32 %r3, %laneid; mad.lo.u32 %r1, %r1, 100, %r2; mad.lo.u32 %r1, %r3, 10000, %r1;", 32,
			func(t uint32) uint32 { return t*10000 + t*100 + 32 - t }},
		{"warp number", "", "mov.u32 %r1, %warpid;", 96, func(t uint32) uint32 { return t / 32 }},
		{"active lanes after all met", "", "setp.lt.u32 %p1, %t, 9; @%p1 bra L; add.u32 %r2, %t, 1; L: bar.warp.sync -1; activemask.b32 %r1;", 32, func(uint32) uint32 { return allLanes }},
		{"bar.red popc", "", "setp.lt.u32 %p1, %t, 45; bar.red.popc.u32 %r1, 0, %p1;", 128, func(uint32) uint32 { return 45 }},
		{"bar.red or", "", "setp.eq.u32 %p1, %t, 99; bar.red.or.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;", 128, func(uint32) uint32 { return 1 }},
		{"bar.red and", "", "setp.ne.u32 %p1, %t, 99; bar.red.and.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;", 128, func(uint32) uint32 { return 0 }},
		{"across a barrier", sharedArray, "mov.u64 %d1, s; add.s64 %d2, %d1, %d0; st.shared.u32 [%d2], %t; barrier.sync 0; xor.b32 %r2, %t, 127; mul.wide.u32 %d3, %r2, 4; add.s64 %d1, %d1, %d3; ld.shared.u32 %r1, [%d1];", 128,
			func(t uint32) uint32 { return t ^ 127 }},
		{"brx", "", "and.b32 %r2, %t, 3; T: .branchtargets A, B, C, A; brx.idx %r2, T; A: mov.u32 %r1, 10; bra E; B: mov.u32 %r1, 20; bra E; C: mov.u32 %r1, 30; E:", 32,
			func(t uint32) uint32 { return []uint32{10, 20, 30, 10}[t&3] }},
		{"a loop of each lane's own length", "", "mov.u32 %r1, 0; mov.u32 %r2, 0; L: add.u32 %r1, %r1, %r2; add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %t; @%p1 bra L;", 64,
			func(t uint32) uint32 { return t * (t + 1) / 2 }},
		{"some lanes leave early", "", "mov.u32 %r1, 5; st.global.u32 [%b], %r1; setp.gt.u32 %p1, %t, 10; @%p1 exit; mov.u32 %r1, 6;", 32, func(t uint32) uint32 {
			if t > 10 {
				return 5
			}
			return 6
		}},
		{"constants", ".const .align 4 .b8 tab[16] = {1, 0, 0, 0, 255, 255, 255, 255, 7};", "and.b32 %r2, %t, 3; mul.wide.u32 %d1, %r2, 4; mov.u64 %d2, tab; add.s64 %d1, %d2, %d1; ld.const.u32 %r1, [%d1]; ld.const.s8 %r2, [tab+4]; add.s32 %r1, %r1, %r2;", 8,
			func(t uint32) uint32 { return []uint32{0, m1 - 1, 6, m1}[t&3] }},
		{"constants by generic address", ".visible .const .align 8 .u32 tab[2] = {3, 4};", "mov.u64 %d1, tab; cvta.const.u64 %d1, %d1; ld.u32 %r1, [%d1+4];", 8, func(uint32) uint32 { return 4 }},
		{"a table in global memory", ".global .align 4 .u32 tab[4] = {5, 6, 0x10};", "and.b32 %r2, %t, 3; mul.wide.u32 %d1, %r2, 4; mov.u64 %d2, tab; add.s64 %d1, %d2, %d1; ld.global.u32 %r1, [%d1];", 8,
			func(t uint32) uint32 { return []uint32{5, 6, 16, 0}[t&3] }},
		{"the stack", "", ".local .align 8 .b8 depot[64]; mov.u64 %d1, depot; cvta.local.u64 %d2, %d1; and.b32 %r2, %t, 15; mul.wide.u32 %d3, %r2, 4; add.s64 %d4, %d2, %d3; st.u32 [%d4], %t; add.s64 %d4, %d1, %d3; ld.local.u32 %r1, [%d4];", 64,
			func(t uint32) uint32 { return t }},
		{"shared memory by generic address", sharedArray, "mov.u64 %d1, s; add.s64 %d1, %d1, %d0; cvta.shared.u64 %d2, %d1; st.u32 [%d2], %t; ld.shared.u32 %r1, [%d1];", 64, func(t uint32) uint32 { return t }},
		{"32-bit shared addresses", sharedArray, "mov.u32 %r2, s; shl.b32 %r3, %t, 2; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2+4], %t; ld.shared.u32 %r1, [%r2+4];", 64, func(t uint32) uint32 { return t }},
		{"vectors", "", "and.b32 %r5, %t, 1; shr.u32 %r6, %t, 2; mul.wide.u32 %d1, %r6, 16; add.s64 %d1, %i, %d1; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1]; ld.global.nc.v2.u32 {%r5, %r6}, [%d1+8]; add.u32 %r1, %r1, %r6;", 64,
			func(t uint32) uint32 { return 2*(t&^3) + 3 }},
		{"bytes and their signs", sharedArray, "mov.u64 %d1, s; add.s64 %d1, %d1, %d0; st.shared.u32 [%d1], 0x80ff7f01; ld.shared.s8 %r1, [%d1+3]; ld.shared.u8 %r2, [%d1+2]; ld.shared.s16 %h1, [%d1+2]; cvt.u32.u16 %r3, %h1; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;", 32,
			func(uint32) uint32 { return (m1 - 127 + 255 + 0x80ff) & m1 }},
		{"atom add", sharedArray, "mov.u64 %d1, s; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [%d1], 0; bar.sync 0; atom.shared.add.u32 %r2, [%d1], %t; red.shared.add.u32 [%d1], 1; bar.sync 0; ld.shared.u32 %r1, [%d1];", 64,
			func(uint32) uint32 { return 64*63/2 + 64 }},
		{"atom max, min, or, and, xor, exch", sharedArray, "mov.u64 %d1, s; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.v4.u32 [%d1], {5, 5, 0, 0xff}; @%p1 st.shared.v2.u32 [%d1+16], {3, 0}; bar.sync 0; red.shared.max.s32 [%d1], %t; red.shared.min.u32 [%d1+4], %t; shl.b32 %r2, 1, %t; red.shared.or.b32 [%d1+8], %r2; red.shared.and.b32 [%d1+12], 0x3c; red.shared.xor.b32 [%d1+16], 1; atom.shared.exch.b32 %r2, [%d1+20], 9; bar.sync 0; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%d1]; ld.shared.v2.u32 {%r5, %r6}, [%d1+16]; add.u32 %r1, %r1, %r2; popc.b32 %r3, %r3; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5; add.u32 %r1, %r1, %r6;", 32,
			func(uint32) uint32 { return 31 + 0 + 32 + 0x3c + 3 + 9 }},
		{"atom cas", sharedArray, "mov.u64 %d1, s; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [%d1], 7; bar.sync 0; atom.shared.cas.b32 %r2, [%d1], 7, 100; setp.eq.u32 %p2, %r2, 7; bar.red.popc.u32 %r1, 0, %p2; ld.shared.u32 %r3, [%d1]; add.u32 %r1, %r1, %r3;", 64,
			func(uint32) uint32 { return 101 }},
		{"atom inc and float", sharedArray, "mov.u64 %d1, s; setp.eq.u32 %p1, %t, 0; @%p1 st.shared.v2.u32 [%d1], {0, 0}; bar.sync 0; atom.shared.inc.u32 %r2, [%d1], 9; red.shared.add.f32 [%d1+4], 0f3F000000; bar.sync 0; ld.shared.v2.u32 {%r1, %r2}, [%d1]; mov.b32 %f1, %r2; cvt.rzi.u32.f32 %r2, %f1; mad.lo.u32 %r1, %r1, 100, %r2;", 64,
			func(uint32) uint32 { return 400 + 32 }},
		{"fences and hints", "", "membar.gl; fence.acq_rel.gpu; membar.cta; prefetch.global.L2 [%i]; nanosleep.u32 20; ld.volatile.global.u32 %r1, [%a]; st.relaxed.gpu.global.u32 [%b], %r1; ld.acquire.gpu.global.u32 %r1, [%b];", 32, func(t uint32) uint32 { return t }},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := kernel(t, c.decl, c.body+put)
			for seed := range uint64(4) {
				out, err := launch(t, k, Options{Seed: seed, MaxSteps: 100000}, 1, c.threads, 0)
				must(t, err)
				for i := range c.threads {
					if out[i] != c.want(i) {
						t.Fatalf("seed %d, thread %d: %d (%#x), must be %d", seed, i, out[i], out[i], c.want(i))
					}
				}
			}
		})
	}
}

// TestShape: threads and blocks know their place in three dimensions.
func TestShape(t *testing.T) {
	m, err := Parse(`.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
.maxntid 64, 1, 1
{
.reg .b32 %r<20>;
.reg .b64 %d<4>;
ld.param.u64 %d1, [out];
mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mov.u32 %r6, %ntid.z;
mov.u32 %r7, %ctaid.x; mov.u32 %r8, %ctaid.y; mov.u32 %r9, %ctaid.z;
mov.u32 %r10, %nctaid.x; mov.u32 %r11, %nctaid.y; mov.u32 %r12, %nctaid.z;
mad.lo.u32 %r8, %r9, %r11, %r8;
mad.lo.u32 %r7, %r8, %r10, %r7;
mad.lo.u32 %r3, %r7, %r6, %r3;
mad.lo.u32 %r2, %r3, %r5, %r2;
mad.lo.u32 %r1, %r2, %r4, %r1;
mul.wide.u32 %d2, %r1, 4;
add.s64 %d1, %d1, %d2;
atom.global.add.u32 %r13, [%d1], 1;
ret;
}`)
	must(t, err)
	x := NewMachine(Options{Seed: 3})
	const n = 5 * 3 * 2 * 4 * 3 * 2
	out, err := x.Alloc(4 * n)
	must(t, err)
	must(t, x.Fill32(out, 41, n))
	must(t, x.Launch(m.Kernel("k"), [3]uint32{4, 3, 2}, [3]uint32{5, 3, 2}, 0, pack64(out)))
	for i, v := range download(t, x, out, n) {
		if v != 42 {
			t.Fatalf("place %d was counted to %d", i, v)
		}
	}
	if err := x.Launch(m.Kernel("k"), [3]uint32{1, 1, 1}, [3]uint32{65, 1, 1}, 0, pack64(out)); err == nil {
		t.Error("more threads than .maxntid says were accepted")
	}
}

// TestSeeds: the order of blocks and warps is the seed's, and the same for the same.
func TestSeeds(t *testing.T) {
	k := kernel(t, "", "atom.global.add.u32 %r1, [%o], 1; shr.u32 %r2, %t, 5; mad.lo.u32 %r2, %c, 4, %r2; add.u32 %r2, %r2, 8; mul.wide.u32 %d1, %r2, 4; add.s64 %d1, %o, %d1; and.b32 %r3, %t, 31; setp.eq.u32 %p1, %r3, 0; @%p1 st.global.u32 [%d1], %r1;")
	order := func(seed uint64) (h uint32) {
		out, err := launch(t, k, Options{Seed: seed}, 8, 128, 0)
		must(t, err)
		if out[0] != 8*128 {
			t.Fatalf("counted %d", out[0])
		}
		for _, v := range out[8:40] {
			h = bits.RotateLeft32(h, 5) ^ v*0x9e3779b1
		}
		return h
	}
	seen := map[uint32]bool{}
	for seed := range uint64(8) {
		a, b := order(seed), order(seed)
		if a != b {
			t.Errorf("seed %d has two orders", seed)
		}
		seen[a] = true
	}
	if len(seen) < 6 {
		t.Errorf("eight seeds have %d orders", len(seen))
	}
}

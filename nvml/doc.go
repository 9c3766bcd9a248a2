// Package nvml tells what NVIDIA GPUs do, through the driver's own library, which it
// loads at run time: no cgo, no toolkit, and an ordinary error where there is none.
//
// [Open] gives the devices for a program that looks once:
//
//	lib, err := nvml.Open(nvml.Options{})
//	for _, d := range lib.Devices() {
//		sample, err := d.Sample()
//	}
//
// A program that watches takes a [Poller]. It holds the machine's lock, so that
// exactly one process polls, owns the library and one thread for its calls, and
// samples every 400 ms while somebody watches and every 2 s otherwise:
//
//	             ┌───────────── one thread ─────────────┐
//	library ◄────┤ sample · sample · sample · …         ├──► Watch: a channel for each watcher,
//	             └──────────────┬───────────────────────┘         which holds the newest alone
//	                            ▼
//	                     last reading ◄── Latest, Collector: never call the library
//
// A call into the library that blocks holds up the thread and nothing else: readers
// see the last reading and how old it is. Each device's sample has its own time: where
// a device takes long, those before it are shown meanwhile, and after [StaleAfter] the
// metrics leave out the devices whose samples are older. A device that is lost is marked so while others go on; it is looked for again
// after 10 s, then ever more seldom, up to every 5 minutes.
//
// Every reading is optional: what a device can't tell is asked for once and then left
// out. A device whose memory is the machine's own (its library knows no framebuffer)
// is marked unified and shows the system's memory. A device in MIG mode is shown
// whole, as the card that it is, with the processes of all its instances; what the
// library only tells of instances (utilisation, for one) is absent. Devices are the
// driver's: CUDA_VISIBLE_DEVICES hides none and renumbers none.
//
// [NewCollector] shows the last reading as the paddock_gpu_ families.
package nvml

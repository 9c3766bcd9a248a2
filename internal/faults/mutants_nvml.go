package main

// nvmlMutants are faults of how devices become numbers.
var nvmlMutants = []mutant{
	{"NVML-asks-again", "a device is asked each time for what it doesn't have",
		"nvml/device.go", "\t\t\td.absent |= 1 << i\n", "",
		"nvml", "TestNotSupportedIsAskedOnce"},
	{"NVML-grows", "a list of processes that grew meanwhile is given up at once",
		"nvml/processes.go", "listTries = 4", "listTries = 1",
		"nvml", "TestProcessListGrows"},
	{"NVML-one-for-all", "a device that is lost takes the others with it",
		"nvml/code.go", "c == Uninitialized || c == DriverNotLoaded", "c == GPULost || c == Uninitialized || c == DriverNotLoaded",
		"nvml", "TestDeviceLostAndFound"},
	{"NVML-goes-down", "a count that began again takes its total down",
		"nvml/totals.go", "\tdefault:\n\t\tt.sum += count.V\n", "\tdefault:\n\t\tt.sum = count.V\n",
		"nvml", "TestTotalsNeverGoDown"},
	{"NVML-gap", "bytes are made up for a time in which nothing was measured",
		"nvml/totals.go", "min(s.pcieAt.Sub(t.rateAt), pcieGap)", "max(s.pcieAt.Sub(t.rateAt), 0)",
		"nvml", "TestTotalsNeverGoDown"},
	{"NVML-old", "a reading of long ago is shown as the present",
		"nvml/reading.go", "|| r.Age >= StaleAfter", "",
		"nvml", "TestBlockedCall"},
	{"NVML-frees-early", "another process may poll while a call of this one still blocks",
		"nvml/poller.go", "\tcase <-t.C:\n\t\twhat, since := p.doing.get()\n\t\treturn &BusyError", "\tcase <-t.C:\n\t\t_ = p.lock.free()\n\t\twhat, since := p.doing.get()\n\t\treturn &BusyError",
		"nvml", "TestCloseTellsOfABlockedCall"},
	{"NVML-next", "a library that loads and doesn't work is the last one tried",
		"nvml/library.go", "\t\ttried = append(tried, Attempt{name, err})\n", "\t\ttried = append(tried, Attempt{name, err})\n\t\tif load == nil {\n\t\t\tbreak\n\t\t}\n",
		"nvml", "TestNextCandidate"},
}

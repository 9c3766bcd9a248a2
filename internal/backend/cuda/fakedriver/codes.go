package fakedriver

import "github.com/paddock-go/paddock/internal/backend/cuda/driver"

// The codes that the fake gives and package driver has no name for.
const (
	notInitialized     driver.Result = 3
	noBinary           driver.Result = 209
	invalidDevice      driver.Result = 101
	invalidContext     driver.Result = 201
	unsupportedVersion driver.Result = 222
	invalidHandle      driver.Result = 400
	illegalState       driver.Result = 401
	notReady           driver.Result = 600
	illegalAddress     driver.Result = 700
	outOfResources     driver.Result = 701
	contextDestroyed   driver.Result = 709
	illegalInstruction driver.Result = 715
	misalignedAddress  driver.Result = 716
	captureUnsupported driver.Result = 900
	captureInvalidated driver.Result = 901
	captureMerge       driver.Result = 902
	captureUnjoined    driver.Result = 904
	captureIsolation   driver.Result = 905
	captureImplicit    driver.Result = 906
	capturedEvent      driver.Result = 907
	captureWrongThread driver.Result = 908
	deviceUnavailable  driver.Result = 46
	unspecified        driver.Result = 999
)

// codeTexts are the codes' names and what they mean.
var codeTexts = map[driver.Result][2]string{
	driver.Success:       {"CUDA_SUCCESS", "no error"},
	driver.InvalidValue:  {"CUDA_ERROR_INVALID_VALUE", "an argument is not allowed"},
	driver.OutOfMemory:   {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	notInitialized:       {"CUDA_ERROR_NOT_INITIALIZED", "the driver was not started"},
	deviceUnavailable:    {"CUDA_ERROR_DEVICE_UNAVAILABLE", "the device can't be used now"},
	driver.NoDevice:      {"CUDA_ERROR_NO_DEVICE", "there is no device"},
	invalidDevice:        {"CUDA_ERROR_INVALID_DEVICE", "there is no such device"},
	invalidContext:       {"CUDA_ERROR_INVALID_CONTEXT", "no context is current on this thread"},
	noBinary:             {"CUDA_ERROR_NO_BINARY_FOR_GPU", "the code is for another device"},
	driver.InvalidPTX:    {"CUDA_ERROR_INVALID_PTX", "the PTX can't be compiled"},
	unsupportedVersion:   {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is of a newer version than the driver"},
	invalidHandle:        {"CUDA_ERROR_INVALID_HANDLE", "a handle is not valid"},
	illegalState:         {"CUDA_ERROR_ILLEGAL_STATE", "not allowed in this state"},
	driver.NotFound:      {"CUDA_ERROR_NOT_FOUND", "there is none of this name"},
	notReady:             {"CUDA_ERROR_NOT_READY", "not done yet"},
	illegalAddress:       {"CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel's access hit no memory"},
	outOfResources:       {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the block is too large for the kernel"},
	contextDestroyed:     {"CUDA_ERROR_CONTEXT_IS_DESTROYED", "the current context was given back"},
	illegalInstruction:   {"CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel ran into an instruction that is not allowed"},
	misalignedAddress:    {"CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel's access was not aligned"},
	driver.LaunchFailure: {"CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
	captureUnsupported:   {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not allowed while a stream is captured"},
	captureInvalidated:   {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier error spoilt the capture"},
	captureMerge:         {"CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would become one"},
	captureUnjoined:      {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "the capture has work that its first stream does not wait for"},
	captureIsolation:     {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "the capture would depend on work outside it"},
	captureImplicit:      {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the default stream was used during a capture"},
	capturedEvent:        {"CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capture"},
	captureWrongThread:   {"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture was begun on another thread"},
	unspecified:          {"CUDA_ERROR_UNKNOWN", "no reason is known"},
}

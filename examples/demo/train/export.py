"""Checkpoint -> GGUF. Usage: export.py CHECKPOINT OUT.gguf"""

import sys

import torch

import corpus
import gguf
from model import SHAPE

NAMES = {"attn_norm": "attn_norm", "q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output", "ffn_norm": "ffn_norm", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"}


def meta(tok):
    s = SHAPE
    control = {tok.pad, tok.start, tok.end}
    return [
        ("general.architecture", gguf.STRING, "llama"),
        ("general.type", gguf.STRING, "model"),
        ("general.name", gguf.STRING, "paddock-demo"),
        ("general.description", gguf.STRING, "The small model embedded in paddock's examples: it knows paddock's metrics and little else."),
        ("general.license", gguf.STRING, "Apache-2.0"),
        ("general.size_label", gguf.STRING, "2.8M"),
        ("general.file_type", gguf.U32, 7),
        ("general.quantization_version", gguf.U32, 2),
        ("llama.block_count", gguf.U32, s["layers"]),
        ("llama.context_length", gguf.U32, s["context"]),
        ("llama.embedding_length", gguf.U32, s["width"]),
        ("llama.feed_forward_length", gguf.U32, s["ffn"]),
        ("llama.attention.head_count", gguf.U32, s["heads"]),
        ("llama.attention.head_count_kv", gguf.U32, s["kv_heads"]),
        ("llama.attention.key_length", gguf.U32, s["head_dim"]),
        ("llama.attention.value_length", gguf.U32, s["head_dim"]),
        ("llama.attention.layer_norm_rms_epsilon", gguf.F32, s["eps"]),
        ("llama.rope.dimension_count", gguf.U32, s["head_dim"]),
        ("llama.rope.freq_base", gguf.F32, s["rope_base"]),
        ("llama.vocab_size", gguf.U32, s["vocab"]),
        ("tokenizer.ggml.model", gguf.STRING, "gpt2"),
        ("tokenizer.ggml.pre", gguf.STRING, "qwen2"),
        ("tokenizer.ggml.tokens", (gguf.ARRAY, gguf.STRING), tok.tokens),
        ("tokenizer.ggml.token_type", (gguf.ARRAY, gguf.I32), [3 if i in control else 1 for i in range(len(tok.tokens))]),
        ("tokenizer.ggml.merges", (gguf.ARRAY, gguf.STRING), [" ".join(m) for m in tok.merges]),
        ("tokenizer.ggml.bos_token_id", gguf.U32, tok.pad),
        ("tokenizer.ggml.eos_token_id", gguf.U32, tok.end),
        ("tokenizer.ggml.padding_token_id", gguf.U32, tok.pad),
        ("tokenizer.ggml.add_bos_token", gguf.BOOL, False),
        ("tokenizer.chat_template", gguf.STRING, corpus.TEMPLATE),
    ]


def export(state, path):
    tensors = [("token_embd.weight", state["embed"])]
    for n in range(SHAPE["layers"]):
        tensors += [(f"blk.{n}.{theirs}.weight", state[f"blocks.{n}.{ours}"]) for ours, theirs in NAMES.items()]
    tensors.append(("output_norm.weight", state["norm"]))
    gguf.write(path, meta(corpus.tokenizer()), [(name, t.detach().float().numpy()) for name, t in tensors])


def load(path, model):
    """Fills model with the weights that a file holds (dequantised)."""
    _, tensors = gguf.read(path)
    state = {"embed": tensors["token_embd.weight"], "norm": tensors["output_norm.weight"]}
    for n in range(SHAPE["layers"]):
        for ours, theirs in NAMES.items():
            state[f"blocks.{n}.{ours}"] = tensors[f"blk.{n}.{theirs}.weight"]
    model.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()})
    return model


if __name__ == "__main__":
    export(torch.load(sys.argv[1], map_location="cpu")["model"], sys.argv[2])

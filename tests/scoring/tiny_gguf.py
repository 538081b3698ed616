"""Writes the tiny Llama as a GGUF file, with its tokenizer, so that no real weights are needed."""

from pathlib import Path

import numpy as np

from .tiny import CONTROLS

NORMAL, CONTROL = 1, 3  # token types of the GGUF format


def write_gguf(path: Path, model, tokenizer, merges=(), architecture: str = "llama") -> Path:
    """One file with float32 weights, the byte tokenizer and its chat template.

    Args:
        path: the file to write.
        model: from ``tiny.tiny_llama``.
        tokenizer: from ``tiny.byte_tokenizer``.
        merges: the tokenizer's merges; the format wants at least one.
        architecture: what the file claims to be.
    """
    import gguf
    writer = gguf.GGUFWriter(path, architecture)
    _add_shape(writer, model.config)
    _add_tokenizer(writer, tokenizer, merges)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, model.config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        module, kind = name.rsplit(".", 1)
        writer.add_tensor(f"{names.get_name(module)}.{kind}", _stored(name, tensor, model.config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_shape(writer, config) -> None:
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)


def _add_tokenizer(writer, tokenizer, merges) -> None:
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([CONTROL if token in CONTROLS else NORMAL for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_chat_template(tokenizer.chat_template)


def _stored(name: str, tensor, config) -> np.ndarray:
    """The format keeps the two halves of each rotary head interleaved."""
    array = tensor.float().numpy()
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for projection, n_heads in heads.items():
        if projection in name:
            halves = array.reshape(n_heads, 2, len(array) // n_heads // 2, -1)
            return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(array.shape))
    return array

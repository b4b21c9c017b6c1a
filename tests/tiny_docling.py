"""A layout model in the file layout of Docling's model folder: real architecture, tiny, random weights.

It proves that the loading code works. What it says about a page means nothing, so no test may judge quality by it.
"""

from __future__ import annotations

from pathlib import Path

LABELS = (
    *("caption", "footnote", "formula", "list_item", "page_footer", "page_header", "picture", "section_header", "table"),
    *("text", "title", "document_index", "code", "checkbox_selected", "checkbox_unselected", "form", "key_value_region"),
)  # fmt: skip


def make_layout_model(artifacts: Path) -> Path:
    """`artifacts`/docling-project--docling-layout-heron, as `docling-tools models download` leaves it."""
    import torch
    from transformers import RTDetrImageProcessor, RTDetrResNetConfig, RTDetrV2Config, RTDetrV2ForObjectDetection

    torch.manual_seed(0)
    backbone = RTDetrResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )  # fmt: skip
    config = RTDetrV2Config(
        backbone_config=backbone, use_timm_backbone=False, encoder_in_channels=[8, 8, 8], encoder_hidden_dim=16,
        encoder_ffn_dim=16, encoder_attention_heads=2, decoder_in_channels=[16, 16, 16], d_model=16, decoder_ffn_dim=16,
        decoder_attention_heads=2, decoder_layers=2, encoder_layers=1, num_queries=10, feat_strides=[8, 16, 32],
        id2label=dict(enumerate(LABELS)), label2id={label: number for number, label in enumerate(LABELS)},
    )  # fmt: skip
    folder = artifacts / "docling-project--docling-layout-heron"
    RTDetrV2ForObjectDetection(config).save_pretrained(folder)
    RTDetrImageProcessor(size={"height": 64, "width": 64}).save_pretrained(folder)
    return folder

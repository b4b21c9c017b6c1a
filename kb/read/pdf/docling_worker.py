"""The process that runs Docling: one JSON request a line on stdin, one JSON reply a line on stdout.

Started by `kb.read.pdf.docling`; ends with its stdin or its parent. It never touches the network: the models are read
from the folder it is given.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from kb.read import convert
from kb.read.pdf.docling import TABLE_FOLDER, Reply, Request

PARENT_CHECK_S = 1.0
THREADS = 2


def main(artifacts: str) -> None:
    replies = _private_stdout()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(
        resource.RLIMIT_DATA, (hard, hard)
    )  # its starter's limit is for code that a file can drive: torch takes more
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    converter: Any = None
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line, type=Request)
        try:
            converter = converter or converter_for(Path(artifacts))
            reply = Reply(blocks=read(converter, request))
        except Exception as error:  # noqa: BLE001 whatever Docling raises becomes one line for the parent
            reply = Reply(error=(str(error).strip().splitlines() or [type(error).__name__])[0])
        replies.write(msgspec.json.encode(reply) + b"\n")
        replies.flush()


def converter_for(artifacts: Path) -> Any:
    """Docling's converter for PDF, its models loaded when the first page comes."""
    from docling.datamodel.accelerator_options import AcceleratorDevice, AcceleratorOptions
    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.pipeline_options import ThreadedPdfPipelineOptions
    from docling.document_converter import DocumentConverter, PdfFormatOption

    pipeline = ThreadedPdfPipelineOptions(
        artifacts_path=artifacts,
        do_ocr=False,  # pages without text never come here
        do_table_structure=(artifacts / TABLE_FOLDER).is_dir(),
        accelerator_options=AcceleratorOptions(device=AcceleratorDevice.AUTO, num_threads=THREADS),
    )
    return DocumentConverter(
        allowed_formats=[InputFormat.PDF],
        format_options={InputFormat.PDF: PdfFormatOption(pipeline_options=pipeline)},
    )


def read(converter: Any, request: Request) -> dict[int, list[Any]]:
    """Blocks by page, running headers and footers left out."""
    from docling.datamodel.backend_options import PdfBackendOptions
    from docling.datamodel.base_models import InputFormat
    from pydantic import SecretStr

    password = SecretStr(request.password) if request.password else None
    backend_options = PdfBackendOptions.model_validate({"password": password})
    converter.format_to_options[InputFormat.PDF].backend_options = backend_options
    result = converter.convert(request.path, page_range=(request.first, request.last))
    pages = range(request.first, request.last + 1)
    return {
        number: [
            block
            for block in convert.blocks(result.document.filter(page_nrs={number}))
            if convert.PAGE_FURNITURE not in block.heading
        ]
        for number in pages
    }


def _private_stdout() -> BinaryIO:
    """The standard output for the replies alone: what libraries print goes to stderr."""
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return private


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(1)

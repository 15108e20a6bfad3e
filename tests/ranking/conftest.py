import pytest

from holdstill.ranking import bm25, kernels, ranks


@pytest.fixture(scope="module", params=["numpy", "kernels"])
def path(request):
    """Each test that uses it runs on numpy and on the compiled kernels, however few the rows."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (bm25, ranks):
            patch.setattr(module, "kernels", lambda rows: kernels if request.param == "kernels" else None)
        yield
